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
from velospec.core.cancellation import CancelToken
from velospec.core.errors import VeloSpecError
from velospec.core.request import (
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
from velospec.drafting import Control, Drafting
from velospec.engine import Engine
from velospec.generator import GenerationResult, VeloSpec
from velospec.models.chat import ChatFormat, Message
from velospec.models.store import InstalledModel, ModelStore

__all__ = [
    "CancelToken",
    "ChatFormat",
    "Completion",
    "Control",
    "Drafting",
    "Engine",
    "FinishReason",
    "GenerationResult",
    "InfillRequest",
    "InstalledModel",
    "Limits",
    "Message",
    "Mode",
    "ModelStore",
    "ProposerCount",
    "Recording",
    "Sampling",
    "Statistics",
    "Step",
    "TextRequest",
    "VeloSpec",
    "VeloSpecError",
]
