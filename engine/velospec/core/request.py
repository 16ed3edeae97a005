"""What a caller asks of the engine, and what it gets back. Text here; token ids below the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from velospec.core.checks import require, require_all, require_number
from velospec.core.grammar import Grammar
from velospec.core.statistics import Statistics

BREAK = "\ufdd0"
"""Where a prompt is cut before it becomes ids, so that no token, a control token least of all, goes across.

A code point that Unicode keeps out of texts. It counts in prompts that are `special` alone.
"""

_LARGEST_SEED = 2**64 - 1


class Mode(StrEnum):
    """How far the output may depend on how it was computed."""

    EXACT = "exact"  # drafts never change the output: only batch shapes that agree bit for bit are used
    FAST = "fast"  # the fastest batch shapes: near ties between tokens may be decided differently


class FinishReason(StrEnum):
    """Why a completion ended."""

    END = "end"  # the target chose an end-of-generation token
    STOP = "stop"  # a stop string was met; it is not part of the text
    LINES = "lines"  # the line limit was reached
    SCOPE = "scope"  # a line was indented less than the cursor's
    LENGTH = "length"  # max_tokens, or the context is full
    PAUSE = "pause"  # the time for more than the lines that are whole is used up
    DEADLINE = "deadline"  # the time budget is used up; the text is what there was


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, beside the model's end token. Each rule acts per token, inside accepted drafts too.

    Raises:
        SettingsError: a value is of the wrong type or out of its range.
    """

    max_tokens: int = 128  # 0 only reads the prompt, so that the next request has it in the cache
    stop: tuple[str, ...] = ()
    max_lines: int | None = None
    indent_scope: bool = False
    budget_ms: float | None = None  # counted from when decoding starts to work on the request
    lines_ms: float | None = None  # after so long, counted likewise, the text ends with its last whole line
    ignore_end: bool = False  # an end token is an id like others, without text: for measurements of speed

    def __post_init__(self) -> None:
        require_number("Limits.max_tokens", self.max_tokens, 0, math.inf, "Give the most tokens.", whole=True)
        require_all("Limits.stop", self.stop, str, 'Give texts, such as stop=("\\n\\n",).')
        if self.max_lines is not None:
            require_number("Limits.max_lines", self.max_lines, 1, math.inf, "Use None for any.", whole=True)
        if self.budget_ms is not None:
            require_number("Limits.budget_ms", self.budget_ms, 0, math.inf, "Use None for any time.")
        if self.lines_ms is not None:
            require_number("Limits.lines_ms", self.lines_ms, 0, math.inf, "Use None for any time.")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How each token is chosen from the model's logits; the default is greedy, the likeliest token each time.

    The steps in their order: the repetition penalty, `temperature`, `top_k`, `top_p`, `min_p`, then the draw.
    Each defaults to having no effect. The same seed and settings give the same text, whatever the drafts.

    Raises:
        SettingsError: a value is of the wrong type or out of its range.
    """

    temperature: float = 0.0  # 0 is greedy
    top_k: int = 0  # only the k likeliest tokens; 0 for all
    top_p: float = 1.0  # only the fewest likeliest tokens that have this share of the probability together
    min_p: float = 0.0  # only tokens of at least this share of the likeliest token's probability
    repetition_penalty: float = 1.0  # divides positive logits of recent tokens, multiplies negative ones
    penalty_window: int = 64  # how many tokens of prompt and output are recent
    seed: int | None = None  # None draws a new one for each request

    def __post_init__(self) -> None:
        if self.temperature != 0:
            require_number(
                "Sampling.temperature",
                self.temperature,
                0.001,
                100,
                "Use 0 for greedy, 1 for the model's own.",
            )
        require_number("Sampling.top_k", self.top_k, 0, math.inf, "Use 0 to allow all tokens.", whole=True)
        require_number("Sampling.top_p", self.top_p, 0.001, 1, "Use 1 to allow all tokens.")
        require_number("Sampling.min_p", self.min_p, 0, 1, "Use 0 to allow all tokens.")
        require_number(
            "Sampling.repetition_penalty", self.repetition_penalty, 0.1, 10, "Use 1 for no penalty."
        )
        require_number(
            "Sampling.penalty_window", self.penalty_window, 0, math.inf, "Use 0 for no penalty.", whole=True
        )
        if self.seed is not None:
            require_number(
                "Sampling.seed",
                self.seed,
                0,
                _LARGEST_SEED,
                "Leave it out for a new one each time.",
                whole=True,
            )

    @property
    def plain(self) -> bool:
        """Whether each token is the likeliest by the model's own logits."""
        return not self.temperature and not self.penalizes

    @property
    def penalizes(self) -> bool:
        """Whether recent tokens are penalized."""
        return self.repetition_penalty != 1 and self.penalty_window > 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of another file, shown to the model beside the one that is edited; LF line ends only.

    Raises:
        SettingsError: a value is of the wrong type.
    """

    path: str  # as a reader of the project would write it, forward slashes; may be empty
    text: str

    def __post_init__(self) -> None:
        for name in ("path", "text"):
            require(f"Chunk.{name}", getattr(self, name), str, "Give it as text.")


@dataclass(frozen=True, slots=True)
class InfillRequest:
    """Complete between `prefix` and `suffix`, LF line ends only, byte-exact at the cursor.

    `context` stands in a stable order, what changes most last: a prompt is read anew from the first chunk
    that differs. What there is no room for behind those before it is left out.
    """

    document: str  # names the KV slot; the document's URI
    prefix: str
    suffix: str
    path: str = ""  # shown to models whose infill format names the file
    limits: Limits = field(default_factory=Limits)
    speculate: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    workspace: str = ""  # what was learned of acceptance is kept apart by it; never leaves this machine
    grammar: Grammar | None = None  # what the text must obey
    log_probs: bool = False  # whether to tell how likely each token was to the model
    context: tuple[Chunk, ...] = ()
    background: bool = False  # nobody waits for it: in the daemon every other request stops it and goes first

    def __post_init__(self) -> None:
        for name in ("prefix", "suffix", "path"):
            require(f"InfillRequest.{name}", getattr(self, name), str, "Give it as text.")
        require("InfillRequest.background", self.background, bool, "Write background=True or False.")
        require_all("InfillRequest.context", self.context, Chunk, "Give chunks: (Chunk(path, text), …).")
        _check_common(self)


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Continue `prompt` as it stands. Control tokens in it are text unless `special`; see BREAK."""

    document: str
    prompt: str
    limits: Limits = field(default_factory=Limits)
    speculate: bool = True
    special: bool = False
    sampling: Sampling = field(default_factory=Sampling)
    workspace: str = ""  # what was learned of acceptance is kept apart by it; never leaves this machine
    grammar: Grammar | None = None  # what the text must obey
    log_probs: bool = False  # whether to tell how likely each token was to the model

    def __post_init__(self) -> None:
        require("TextRequest.prompt", self.prompt, str, "Give the text that is to be continued.")
        _check_common(self)


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer. `token_ids` are the ids kept; `text` is what they add after the cursor.

    `log_probs` has the natural logarithm of each id's probability under the model itself, before any mask,
    temperature or penalty, and `ends` how many characters of `text` there are up to the id's end; both are
    empty unless the request asked for them. `end_log_prob` is that of the id that came behind and ended the
    text: the end token, or one that begins with what is no longer wanted; 0 where there was none.
    """

    text: str
    token_ids: tuple[int, ...]
    finish: FinishReason
    statistics: Statistics
    log_probs: tuple[float, ...] = ()
    ends: tuple[int, ...] = ()
    end_log_prob: float = 0.0


def _check_common(request: InfillRequest | TextRequest) -> None:
    """Raise SettingsError for a field of the wrong type; the name of the class is that of `request`."""
    where = type(request).__name__
    require(f"{where}.document", request.document, str, "Name the document, such as by its path.")
    require(f"{where}.workspace", request.workspace, str, "Name the workspace, or leave it out.")
    require(f"{where}.log_probs", request.log_probs, bool, "Write log_probs=True or False.")
    require(f"{where}.limits", request.limits, Limits, "Write Limits(max_tokens=…).")
    require(f"{where}.sampling", request.sampling, Sampling, "Write Sampling(temperature=…).")
    if request.grammar is not None:
        require(f"{where}.grammar", request.grammar, Grammar, "Write Grammar(GrammarKind.REGEX, …).")
