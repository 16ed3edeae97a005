"""The public API in one place: an engine for an installed model, requests in, completions out.

    model = velospec.ModelStore().default("completion")
    engine = velospec.Engine.open(model)
    request = velospec.TextRequest("notes", "def fibonacci(n):")
    print(engine.generate(request, velospec.CancelToken()).text)
    engine.close()

Importing it loads the native library.
"""

from __future__ import annotations

from velospec.backends.replay import Recording
from velospec.chat import Chat, ChatAnswer, ChatFinish, Question
from velospec.core.cancellation import CancelToken
from velospec.core.errors import VeloSpecError
from velospec.core.grammar import Grammar, GrammarKind, Whitespace
from velospec.core.openai_json import read_choice, read_messages, read_tools
from velospec.core.request import (
    Chunk,
    Completion,
    FinishReason,
    InfillRequest,
    Limits,
    Mode,
    Sampling,
    TextRequest,
)
from velospec.core.statistics import ProposerCount, Statistics
from velospec.core.step import Step
from velospec.core.tools import Tool, ToolCall, ToolChoice, ToolMode
from velospec.drafting import Control, Drafting
from velospec.engine import Engine
from velospec.generator import GenerationResult, VeloSpec
from velospec.models.calls import Delta
from velospec.models.chat import ChatFormat, Message
from velospec.models.store import InstalledModel, ModelStore

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
