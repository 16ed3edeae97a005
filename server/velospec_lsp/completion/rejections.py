"""What the user has passed over, so that it is not shown at the same place again and again.

The same place is the same text: an edit nearby makes it another one, and what was passed over counts no more.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from velospec_lsp.documents import Document
from velospec_lsp.events import Decision, Fate, Listener
from velospec_lsp.text import Place, to_lf

_ENOUGH = 2  # times
_REMEMBERED = 600.0  # seconds since the last time
_KEPT = 500  # spots
_NEARBY = 3  # lines above
_BELOW = 24  # lines in which one that is not blank is looked for


@dataclass(frozen=True, slots=True)
class Spot:
    """A text at a place, known by what stands around it: `line` begins where the cursor's line does."""

    uri: str
    above: str
    line: str
    below: str


def spot_of(document: Document, start: Place, text: str) -> Spot:
    """The spot of an offer that puts `text` at `start`. It stays the same while the text is typed along."""
    lines = document.text
    above = to_lf(lines.lines(max(0, start.line - _NEARBY), start.line))
    below = islice(lines.lines(start.line + 1), _BELOW)
    nearest = next((line.strip() for line in below if line.strip()), "")
    return Spot(document.uri, above, lines.line(start.line)[: start.index] + text, nearest)


class Rejections(Listener):
    """Counts how often each offer was passed over."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spots: OrderedDict[Spot, tuple[int, float]] = OrderedDict()  # times, and when the last one was

    def decided(self, decision: Decision) -> None:
        spot = spot_of(decision.document, decision.start, decision.text)
        if decision.fate is Fate.REJECTED:
            self._spots[spot] = (self._times(spot) + 1, self._clock())
            self._spots.move_to_end(spot)
            while len(self._spots) > _KEPT:
                self._spots.popitem(last=False)
        elif decision.fate is not Fate.SHOWN:
            self._spots.pop(spot, None)  # wanted after all

    def closed(self, document: Document) -> None:
        self.forget(document.uri)

    def forget(self, uri: str) -> None:
        """Drop what was passed over in `uri`."""
        for spot in [spot for spot in self._spots if spot.uri == uri]:
            del self._spots[spot]

    def unwanted(self, document: Document, start: Place, text: str) -> bool:
        """Whether `text` was passed over at `start` often enough lately."""
        return bool(self._spots) and self._times(spot_of(document, start, text)) >= _ENOUGH

    def _times(self, spot: Spot) -> int:
        times, last = self._spots.get(spot, (0, 0.0))
        return times if self._clock() - last < _REMEMBERED else 0
