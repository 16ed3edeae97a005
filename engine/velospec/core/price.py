"""What asking an expensive proposer costs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """Seconds that a proposer takes to draft, as measured so far."""

    first: float  # for the first id of a draft
    following: float  # for each id after it
    unread: float = 0.0  # once, to read what was decided since it was last asked

    def seconds(self, length: int) -> float:
        """Of a draft of `length` >= 1 ids, what is unread not counted."""
        return self.first + (length - 1) * self.following
