"""Which draft to score and how much of it: the one that brings the most tokens per second.

A draft cut to n ids is expected to yield 1 + p1 + p1 p2 + ... + p1...pn tokens in the time of n + 1 rows.
Against it stands no draft at all: one token in the time of one row. Where exact mode scores no fewer than
two rows, the second row costs nothing extra and takes the best guess there is.

The draft and length that look best are, on average, those whose chances were estimated too high. So the odds
of each id count for less than estimated, and an uncertain draft has to earn its rows. Knows no ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from velospec.control.acceptance import Acceptance, scale_odds
from velospec.core.draft import EMPTY, Draft, Verdict

CAUTION = 0.6
"""Share of an id's estimated odds that counts. Chosen by replaying recorded answers under two cost curves:
with 0.5 the mean falls, with 0.75 the answers that drafts help least."""


class Cost(Protocol):
    """What a batch costs; `control.cost_model.CostModel` is the measured one."""

    def seconds(self, rows: int, context: int = 0) -> float: ...

    def observe(self, rows: int, context: int, seconds: float) -> None: ...


class Selector:
    """Chooses by expected tokens per second."""

    def __init__(self, acceptance: Acceptance, cost: Cost, *, min_rows: int = 1) -> None:
        self._acceptance = acceptance
        self.cost = cost
        self._min_rows = min_rows

    def choose(self, drafts: Iterable[Draft], context: int = 0) -> Draft:
        """The best of `drafts`, cut to its best length; EMPTY where none pays.

        `context` is the number of positions in the KV cache, which the cost depends on.
        """
        best, best_length, best_rate = EMPTY, 0, 1 / self.cost.seconds(self._min_rows, context)
        for draft in drafts:
            length, rate = self._best_length(draft, context)
            if rate > best_rate:
                best, best_length, best_rate = draft, length, rate
        return best.cut(best_length)

    def observe(self, drafts: Iterable[Draft], verdict: Verdict, context: int, seconds: float) -> None:
        """Take note of what was decided after `drafts` were offered, and of the seconds that scoring took."""
        decided = verdict.ids
        for draft in drafts:
            self._acceptance.observe(draft, decided)
        self.cost.observe(max(len(verdict.draft) + 1, self._min_rows), context, seconds)

    def _best_length(self, draft: Draft, context: int) -> tuple[int, float]:
        survival, expected = 1.0, 1.0
        best_length, best_rate = 0, 0.0
        for length, chance in enumerate(self._acceptance.chances(draft), start=1):
            survival *= scale_odds(chance, CAUTION)
            expected += survival
            rate = expected / self.cost.seconds(max(length + 1, self._min_rows), context)
            if rate > best_rate:
                best_length, best_rate = length, rate
        return best_length, best_rate
