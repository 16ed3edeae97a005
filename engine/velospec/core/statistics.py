"""Counts and times of decoding, additive: `a + b` is what one longer run would have counted."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a request cost and what drafting brought.

    Mean accepted length counts the target's own token of each step: `new_tokens / steps`.
    Times are in seconds. `reused_tokens` came from the slot's KV prefix, `prefilled_tokens` were scored
    without logits before the first step (the healed token, being masked, is decided and not prefilled).
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
    accepted_at: tuple[int, ...] = field(default=())  # [i]: drafts whose position i was accepted
    drafted_at: tuple[int, ...] = field(default=())  # [i]: drafts that had a position i

    def __add__(self, other: Statistics) -> Statistics:
        merged: dict[str, Any] = {}
        for item in fields(self):
            mine, theirs = getattr(self, item.name), getattr(other, item.name)
            merged[item.name] = _add(mine, theirs) if isinstance(mine, tuple) else mine + theirs
        return Statistics(**merged)

    @property
    def acceptance_rate(self) -> float:
        """Accepted share of the drafted tokens, 0 to 1; 0 where nothing was drafted."""
        return self.accepted_tokens / self.drafted_tokens if self.drafted_tokens else 0.0

    @property
    def tokens_per_second(self) -> float:
        """New tokens per second of decoding; prefill not counted."""
        return self.new_tokens / self.decode_seconds if self.decode_seconds else 0.0


def _add(mine: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[int, ...]:
    longer, shorter = (mine, theirs) if len(mine) >= len(theirs) else (theirs, mine)
    return tuple(a + b for a, b in zip(longer, shorter, strict=False)) + longer[len(shorter) :]
