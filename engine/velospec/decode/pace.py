"""How much of a prompt to read between two looks at the deadline, learned from how fast reading goes.

Knows counts and seconds only. The time between two looks must not depend on the model: a small one reads 64
ids in a fifth of a second, a large one on a busy machine takes ten.
"""

from __future__ import annotations

_SECONDS = 0.25  # between two looks, about
_LEAST = 8  # ids; fewer cost more than they give in promptness


class Pace:
    """`ids` is how many to read next, at most what it was made with."""

    def __init__(self, most: int) -> None:
        self.ids = self._most = most

    def observe(self, ids: int, seconds: float) -> None:
        """Take note that reading `ids` took `seconds`; at most doubles, as one fast chunk proves little."""
        affordable = int(ids * _SECONDS / seconds) if seconds > 0 else self._most
        self.ids = max(min(affordable, 2 * self.ids, self._most), min(_LEAST, self._most))
