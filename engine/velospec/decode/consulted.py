"""A costly proposer behind the judgement whether it is asked: to the loop, a proposer that often has nothing.

Brings together what a draft costs, which the proposer knows, what it is worth, which `control.costly` knows,
and how long a step takes, which is measured here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from velospec.control.costly import Worth
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.base import GrammarAware, GrammarView, Priced


class Consulted:
    """Implements `Proposer` and `Costly` on a `Priced` proposer, which it asks only where that pays.

    Also `GrammarAware`, for one that is.
    """

    def __init__(
        self, proposer: Priced, worth: Worth, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.name = proposer.name
        self._proposer = proposer
        self._worth = worth
        self._clock = clock
        self._step_began = 0.0
        self._draft, self._spent = EMPTY, 0.0  # of this step; seconds that it took to draft
        self._on_offer = (EMPTY, 0, 0)  # as last considered

    def use_grammar(self, grammar: GrammarView | None) -> None:
        if isinstance(self._proposer, GrammarAware):
            self._proposer.use_grammar(grammar)

    def begin(self, ids: Sequence[int]) -> None:
        self._proposer.begin(ids)
        self._draft, self._spent, self._step_began = EMPTY, 0.0, self._clock()

    def consider(self, best: Draft, context: int, left: int) -> None:
        self._on_offer = (best, context, left)

    def propose(self, limit: int) -> Draft:
        best, context, left = self._on_offer
        length = self._worth.length(self._proposer.price(), best, context=context, limit=limit, left=left)
        if length:
            started = self._clock()
            self._draft = self._proposer.propose(length)
            self._spent = self._clock() - started
        return self._draft

    def extend(self, ids: Sequence[int]) -> None:
        now = self._clock()
        self._worth.observe(self._draft, ids, now - self._step_began, self._spent)
        self._draft, self._spent, self._step_began = EMPTY, 0.0, now
        self._proposer.extend(ids)

    def observe(self, verdict: Verdict) -> None:
        self._proposer.observe(verdict)
