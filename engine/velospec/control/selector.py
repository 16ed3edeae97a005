"""Which draft to score and how much of it: the one that brings the most tokens per second.

A draft cut to n ids is expected to yield 1 + p1 + p1 p2 + ... + p1...pn tokens in the time of n + 1 rows, and
of all that a step takes besides, which does not depend on n: fewer steps save that too. Against it stands no
draft at all: one token in the time of one row. Where exact mode scores no fewer than two rows, the second row
costs nothing extra and takes the best guess there is.

The draft and length that look best are, on average, those whose chances were estimated too high. So the odds
of each id count for less than estimated, and an uncertain draft has to earn its rows; for less still in a
request where drafts have lost time (`guard`). Knows no ids.

Tried by replay and left out: weighing a step against the rate of the steps before it, which is best in the
long run by renewal theory. It gave the same mean and worse worst cases.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.control.acceptance import scale_odds
from velospec.control.guard import Guard
from velospec.control.policy import Cost, Estimate
from velospec.core.draft import EMPTY, Draft, Verdict

CAUTION = 0.7
"""Share of an id's estimated odds that counts. Chosen by replaying recorded answers under two cost curves:
with 0.6 the mean falls, with 1 the answers that drafts help least."""


_RECENT = 0.05  # weight of the newest step in the running average of what steps take beside scoring


class Selector:
    """The policy that chooses by expected tokens per second."""

    exact_density = False

    def __init__(self, acceptance: Estimate, cost: Cost, *, min_rows: int = 1) -> None:
        self._acceptance = acceptance
        self.cost = cost
        self._min_rows = min_rows
        self._guard = Guard()
        self._own = 0.0  # seconds that a step takes beside scoring, a running average

    def begin(self) -> None:
        """A request begins."""
        self._acceptance.begin()
        self._guard.begin()

    def look(self, density: float) -> None:
        """Take the share of the vocabulary that the grammar allows as evidence of what drafts are worth."""
        self._acceptance.look(density)

    def choose(self, drafts: Sequence[Draft], context: int = 0) -> Draft:
        """The best of `drafts`, cut to its best length; EMPTY where none pays.

        `context` is the number of positions in the KV cache, which the cost depends on.
        """
        longest = max((len(draft.ids) for draft in drafts), default=0)
        seconds = [
            self._own + self.cost.seconds(max(rows, self._min_rows), context)
            for rows in range(1, longest + 2)
        ]
        best, best_length, best_rate = EMPTY, 0, 1 / seconds[0]
        for draft in drafts:
            length, rate = self._best_length(draft, drafts, seconds, best_rate)
            if length:
                best, best_length, best_rate = draft, length, rate
        return best.cut(best_length)

    def observe(self, drafts: Sequence[Draft], verdict: Verdict, context: int, seconds: float) -> None:
        """Take note of what was decided after `drafts` were offered, and of the seconds that scoring took."""
        self._acceptance.learn(drafts, verdict)
        rows = max(len(verdict.draft) + 1, self._min_rows)
        # Expected times, so that a stall is not held against the drafts.
        steps = self.cost.seconds(rows, context) / self.cost.seconds(self._min_rows, context)
        self._guard.note(verdict.accepted + 1, steps)
        self.cost.observe(rows, context, seconds)

    def spent(self, seconds: float) -> None:
        """Take note of what a step took beside scoring; a stall counts for no more than twice the usual."""
        usual = self._own or seconds
        self._own = usual + _RECENT * (min(seconds, 2 * usual) - usual)

    def _best_length(
        self, draft: Draft, drafts: Sequence[Draft], seconds: Sequence[float], least: float
    ) -> tuple[int, float]:
        """The best length of a draft and its rate, where that is above `least`; else 0 and `least`.

        `seconds` are those of batches with 0, 1, 2 ids of it. Ids are looked at for as long as they could
        help if all that follow were certain.
        """
        survival, expected, caution = 1.0, 1.0, self._guard.trust
        if not draft.guesses:  # ids that have evidence of their own are known well enough as they are
            caution *= CAUTION
        best_length, best_rate, last = 0, least, len(draft.ids)
        for length, chance in enumerate(self._acceptance.walk(draft, drafts), start=1):
            survival *= scale_odds(chance, caution)
            expected += survival
            rate = expected / seconds[length]
            if rate > best_rate:
                best_length, best_rate = length, rate
            if expected + survival * (last - length) <= best_rate * seconds[length]:
                break
        return best_length, best_rate
