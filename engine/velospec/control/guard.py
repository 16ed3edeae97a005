"""Bounds what drafts may lose in one request: the more they have cost, the surer the next has to be.

What a step saved is the tokens it made, less its expected time in units of a step without a draft. As long
as a request has saved time, nothing changes; where it has lost, the odds of each id on offer count for less,
by a factor of e for every two steps lost, until next to certain drafts alone are scored. These win the loss
back.
"""

from __future__ import annotations

import math

_PATIENCE = 2.0  # steps without a draft whose loss takes the odds down to 1 / e
_LEAST = 0.1  # share of the odds that is left at worst


class Guard:
    """The account of one request."""

    def __init__(self) -> None:
        self._saved = 0.0

    def begin(self) -> None:
        """A request begins: nothing saved, nothing lost."""
        self._saved = 0.0

    def note(self, tokens: int, steps: float) -> None:
        """A step made `tokens`, in the expected time of so many steps without a draft."""
        self._saved += tokens - steps

    @property
    def trust(self) -> float:
        """What the odds of a draft's ids are multiplied by, 1 or less."""
        return 1.0 if self._saved >= 0 else max(_LEAST, math.exp(self._saved / _PATIENCE))
