"""A proposer whose drafts take time, asked in every step for no more ids than a policy without costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from velospec.core.draft import Draft, Verdict
from velospec.proposers.base import GrammarAware, GrammarView, Proposer


class Limited:
    """Implements `Proposer`, and `GrammarAware` for one that is."""

    def __init__(self, proposer: Proposer, longest: Callable[[], int]) -> None:
        """`longest` tells how many ids of the next draft will be scored at the most."""
        self.name = proposer.name
        self._proposer = proposer
        self._longest = longest

    def use_grammar(self, grammar: GrammarView | None) -> None:
        if isinstance(self._proposer, GrammarAware):
            self._proposer.use_grammar(grammar)

    def begin(self, ids: Sequence[int]) -> None:
        self._proposer.begin(ids)

    def extend(self, ids: Sequence[int]) -> None:
        self._proposer.extend(ids)

    def propose(self, limit: int) -> Draft:
        return self._proposer.propose(min(limit, self._longest()))

    def observe(self, verdict: Verdict) -> None:
        self._proposer.observe(verdict)
