"""How often what is shown is wanted: counts by language and day, kept on this machine."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

from velospec.core.acceptance_counts import Days, add_counts, merge, read_counts, recent
from velospec_lsp.events import Decision, Fate, Listener

logger = logging.getLogger(__name__)

_WRITE_SECONDS = 30.0  # between two writings
_EXPECTED = 0.5  # the share that is taken for wanted before anything is known
_WEIGHT = 20  # offers that this assumption is worth


class Feedback(Listener):
    """Counts what becomes of offers, and writes that down now and then."""

    def __init__(self, folder: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """`folder` None is the user's; nothing is read before it is needed."""
        self._folder = folder
        self._clock = clock
        self._kept: Days | None = None  # as of the last writing, by all editors
        self._news: Days = {}
        self._written = clock()

    def decided(self, decision: Decision) -> None:
        today = date.today().isoformat()  # noqa: DTZ011 - the user's day
        merge(self._news, {today: {decision.document.language: Counter({decision.fate.value: 1})}})
        if self._clock() - self._written >= _WRITE_SECONDS:
            self.write()

    def rate(self, language: str) -> float:
        """The share of what was read lately in `language` that was wanted, 0 to 1.

        Wanted is what was accepted, wholly or partly, and not deleted soon after, and what was typed all the
        same. Without counts it is one half, and few counts move it little.
        """
        counts = self.totals().get(language, Counter())
        wanted = counts[Fate.ACCEPTED] + counts[Fate.PARTLY] + counts[Fate.TYPED] - counts[Fate.DELETED]
        read = wanted + counts[Fate.DELETED] + counts[Fate.REJECTED]
        return (max(wanted, 0) + _EXPECTED * _WEIGHT) / (max(read, 0) + _WEIGHT)

    def totals(self) -> dict[str, Counter[str]]:
        """The counts of the last `RECENT_DAYS` days, those of other editors as of the last writing."""
        if self._kept is None:
            self._kept = read_counts(self._folder)
        sums = recent(self._kept)
        for language, counts in recent(self._news).items():
            sums.setdefault(language, Counter()).update(counts)
        return sums

    def write(self) -> None:
        """Add what is new to the file; where that cannot be done now, it is kept for the next time."""
        self._written = self._clock()
        if self._news and add_counts(self._news, self._folder):
            self._news = {}
        elif self._news:
            logger.info("the counts of suggestions could not be written; tried again later")
        self._kept = read_counts(self._folder)
