"""What a caller asks of the engine, and what it gets back. Text here; token ids below the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from velospec.core.statistics import Statistics


class FinishReason(StrEnum):
    """Why a completion ended."""

    END = "end"  # the target chose an end-of-generation token
    STOP = "stop"  # a stop string was met; it is not part of the text
    LINES = "lines"  # the line limit was reached
    SCOPE = "scope"  # a line was indented less than the cursor's
    LENGTH = "length"  # max_tokens, or the context is full
    DEADLINE = "deadline"  # the time budget is used up; the text is what there was


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, beside the model's end token. Each rule acts per token, inside accepted drafts too."""

    max_tokens: int = 128
    stop: tuple[str, ...] = ()
    max_lines: int | None = None
    indent_scope: bool = False
    budget_ms: float | None = None  # counted from when decoding starts to work on the request
    ignore_end: bool = False  # an end token is an id like others, without text: for measurements of speed


@dataclass(frozen=True, slots=True)
class InfillRequest:
    """Complete between `prefix` and `suffix`, LF line ends only, byte-exact at the cursor."""

    document: str  # names the KV slot; the document's URI
    prefix: str
    suffix: str
    path: str = ""  # shown to models whose infill format names the file
    limits: Limits = field(default_factory=Limits)
    speculate: bool = True


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Continue `prompt` as it stands (special tokens in it are text unless `special`)."""

    document: str
    prompt: str
    limits: Limits = field(default_factory=Limits)
    speculate: bool = True
    special: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer. `token_ids` are the ids kept; `text` is what they add after the cursor."""

    text: str
    token_ids: tuple[int, ...]
    finish: FinishReason
    statistics: Statistics
