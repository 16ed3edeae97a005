"""VeloSpec: exact speculative decoding without a second model, for code completion on your own machine.

The public names load when they are first used, so that `import velospec` costs nothing and needs no native
library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from velospec.api import CancelToken as CancelToken
    from velospec.api import Chat as Chat
    from velospec.api import ChatAnswer as ChatAnswer
    from velospec.api import ChatFinish as ChatFinish
    from velospec.api import ChatFormat as ChatFormat
    from velospec.api import Chunk as Chunk
    from velospec.api import Completion as Completion
    from velospec.api import Control as Control
    from velospec.api import Delta as Delta
    from velospec.api import Drafting as Drafting
    from velospec.api import Engine as Engine
    from velospec.api import FinishReason as FinishReason
    from velospec.api import GenerationResult as GenerationResult
    from velospec.api import Grammar as Grammar
    from velospec.api import GrammarKind as GrammarKind
    from velospec.api import InfillRequest as InfillRequest
    from velospec.api import InstalledModel as InstalledModel
    from velospec.api import Limits as Limits
    from velospec.api import Message as Message
    from velospec.api import Mode as Mode
    from velospec.api import ModelStore as ModelStore
    from velospec.api import ProposerCount as ProposerCount
    from velospec.api import Question as Question
    from velospec.api import Recording as Recording
    from velospec.api import Sampling as Sampling
    from velospec.api import Statistics as Statistics
    from velospec.api import Step as Step
    from velospec.api import TextRequest as TextRequest
    from velospec.api import Tool as Tool
    from velospec.api import ToolCall as ToolCall
    from velospec.api import ToolChoice as ToolChoice
    from velospec.api import ToolMode as ToolMode
    from velospec.api import VeloSpec as VeloSpec
    from velospec.api import VeloSpecError as VeloSpecError
    from velospec.api import Whitespace as Whitespace
    from velospec.api import read_choice as read_choice
    from velospec.api import read_messages as read_messages
    from velospec.api import read_tools as read_tools

__all__ = [
    "CancelToken",
    "Chat",
    "ChatAnswer",
    "ChatFinish",
    "ChatFormat",
    "Chunk",
    "Completion",
    "Control",
    "Delta",
    "Drafting",
    "Engine",
    "FinishReason",
    "GenerationResult",
    "Grammar",
    "GrammarKind",
    "InfillRequest",
    "InstalledModel",
    "Limits",
    "Message",
    "Mode",
    "ModelStore",
    "ProposerCount",
    "Question",
    "Recording",
    "Sampling",
    "Statistics",
    "Step",
    "TextRequest",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolMode",
    "VeloSpec",
    "VeloSpecError",
    "Whitespace",
    "read_choice",
    "read_messages",
    "read_tools",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from velospec import api  # noqa: PLC0415 - see above

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
