"""Counts and times of decoding, additive: `a + b` is what one longer run would have counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True, slots=True)
class ProposerCount:
    """What one proposer's drafts came to: batches they were scored in, their ids, and those accepted."""

    batches: int = 0
    drafted: int = 0
    accepted: int = 0

    def __add__(self, other: ProposerCount) -> ProposerCount:
        return ProposerCount(
            self.batches + other.batches, self.drafted + other.drafted, self.accepted + other.accepted
        )


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a request cost and what drafting brought.

    Mean accepted length counts the target's own token of each step: `new_tokens / steps`.
    Times are in seconds; that of prefill holds what the proposers take to read the prompt. `reused_tokens`
    came from the slot's KV prefix, `prefilled_tokens` were scored without logits before the first step (the
    healed token, being masked, is decided and not prefilled).
    The times of the steps' parts do not add up to `decode_seconds`: what commits and shows ids is in neither.
    """

    prompt_tokens: int = 0
    reused_tokens: int = 0
    prefilled_tokens: int = 0
    steps: int = 0
    new_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    first_token_seconds: float = 0.0
    propose_seconds: float = 0.0  # drafting and choosing
    score_seconds: float = 0.0  # in the model
    decide_seconds: float = 0.0  # comparing with the target, and learning from it
    grammar_seconds: float = 0.0  # of these, in the grammar: masks, forced text, moves and their reversal
    forced_tokens: int = 0  # of the new ones, lying wholly in text that the grammar left no choice about
    accepted_at: tuple[int, ...] = field(default=())  # [i]: drafts whose position i was accepted
    drafted_at: tuple[int, ...] = field(default=())  # [i]: drafts that had a position i
    rows: tuple[int, ...] = field(default=())  # [k]: batches of k rows
    scored_seconds_at: tuple[float, ...] = field(default=())  # [k]: in the model, for batches of k rows
    expected_seconds_at: tuple[float, ...] = field(default=())  # [k]: what the cost model expected of them
    proposers: Mapping[str, ProposerCount] = field(default_factory=dict)  # by name

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            **{item.name: _sum(getattr(self, item.name), getattr(other, item.name)) for item in fields(self)}
        )

    @property
    def acceptance_rate(self) -> float:
        """Accepted share of the drafted tokens, 0 to 1; 0 where nothing was drafted."""
        return self.accepted_tokens / self.drafted_tokens if self.drafted_tokens else 0.0

    @property
    def tokens_per_second(self) -> float:
        """New tokens per second of decoding; prefill not counted."""
        return self.new_tokens / self.decode_seconds if self.decode_seconds else 0.0

    @property
    def tokens_per_step(self) -> float:
        """New tokens for each pass of the model, 1 without drafts; 0 where nothing was decoded."""
        return self.new_tokens / self.steps if self.steps else 0.0

    @property
    def expected_seconds(self) -> float:
        """What the cost model expected of all batches; `score_seconds` is what they took."""
        return sum(self.expected_seconds_at)


def _sum(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, tuple):
        return tuple(a + b for a, b in zip_longest(mine, theirs, fillvalue=0))
    if isinstance(mine, Mapping):
        none = ProposerCount()
        return {name: mine.get(name, none) + theirs.get(name, none) for name in {**mine, **theirs}}
    return mine + theirs
