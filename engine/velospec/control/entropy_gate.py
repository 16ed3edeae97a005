"""How sure the target has been of its own choices, as evidence on drafts.

Where the margin between its best and second logit is wide the text is easy, and drafts tend to be right;
where it is narrow nobody's guess is worth much. The gate scales the odds of every id on offer by the last
margin and by their running mean, one weight for each level and for the first, the second and the later ids
of a draft. Switched off (`enabled` False) it scales nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable

from velospec.control.weights import Weight, Weights

REACHES = 3
"""The first id of a draft, the second, and all later ones: what is known now says less the farther ahead."""

_LEVELS = (0.5, 1.0, 1.7, 2.5, 3.5, 5.0, 7.0)  # bounds of the margin's classes, in logits
_MEMORY = 0.8  # what a margin leaves of the mean before it


class EntropyGate:
    """The margins of one request, and the weights that they choose."""

    def __init__(self, weights: Weights, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._last = [_row(weights, "margin", level) for level in range(len(_LEVELS) + 1)]
        self._mean = [_row(weights, "margins", level) for level in range(len(_LEVELS) + 1)]
        self.begin()

    def begin(self) -> None:
        """A request begins: nothing is known yet."""
        self._margin = self._average = math.nan

    def note(self, margins: Iterable[float]) -> None:
        """The margins of ids that were decided, in order."""
        for margin in margins:
            known = not math.isnan(self._average)
            self._average = self._average * _MEMORY + margin * (1 - _MEMORY) if known else margin
            self._margin = margin

    def weights(self, reach: int) -> list[Weight]:
        """What the margins add to the log odds of ids at `reach`."""
        if not self._enabled or math.isnan(self._margin):
            return []
        last = self._last[bisect_right(_LEVELS, self._margin)]
        return [last[reach], self._mean[bisect_right(_LEVELS, self._average)][reach]]


def _row(weights: Weights, name: str, level: int) -> list[Weight]:
    return [weights.get(f"{name} {level} {reach}") for reach in range(REACHES)]
