"""Two constraints at once: what is allowed is what both allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from velospec.constraints.base import Constraint, Ids


class Both:
    """Implements `constraints.base.Constraint`."""

    def __init__(self, first: Constraint, second: Constraint) -> None:
        self._first = first
        self._second = second

    @property
    def slow_masks(self) -> bool:
        return self._first.slow_masks or self._second.slow_masks

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        first, second = self._first.allowed(ahead), self._second.allowed(ahead)
        if first is None or second is None:
            return second if first is None else first
        return np.intersect1d(first, second, assume_unique=True)

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        return self._first.allows(ahead, token) and self._second.allows(ahead, token)

    def ends(self, ahead: Sequence[int]) -> bool:
        return self._first.ends(ahead) and self._second.ends(ahead)

    def trim(self, ids: Sequence[int]) -> int:
        return self._second.trim(ids[: self._first.trim(ids)])

    def advance(self, ids: Sequence[int]) -> None:
        self._first.advance(ids)
        self._second.advance(ids)
