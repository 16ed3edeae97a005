"""Suffix matching: what followed the latest ids where they stood before, in the request and in a corpus.

Two proposers, so that each source has evidence of its own: what stands in the text at hand repeats far more
often than what stands in other texts. Of several places the longest match counts, and of several ids that
followed it the most frequent. Sees ids only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.learning.automaton import Match, SuffixAutomaton
from velospec.learning.workspace.chains import DEPTH

AGREEMENTS = 4
"""Classes of agreement: seen once before; all agree; two thirds and more do; fewer do."""

_LENGTHS = (2, 3, 4, 6, 9, 14, 24, 48)  # the least match lengths of buckets 1, 2, ...
# Chances of the first id by bucket, for each class of agreement: a little below what small models of code
# were found to accept, since later ids are accepted less often than the first promises.
_OWN = (
    (0.27, 0.41, 0.50, 0.56, 0.63, 0.70, 0.77, 0.81, 0.83),
    (0.41, 0.54, 0.61, 0.68, 0.72, 0.77, 0.82, 0.85, 0.85),
    (0.32, 0.41, 0.50, 0.54, 0.58, 0.63, 0.68, 0.68, 0.68),
    (0.18, 0.24, 0.32, 0.38, 0.34, 0.32, 0.45, 0.45, 0.45),
)
_OTHERS = (
    (0.08, 0.24, 0.24, 0.28, 0.40, 0.46, 0.48, 0.52, 0.56),
    (0.48, 0.48, 0.48, 0.52, 0.56, 0.64, 0.70, 0.72, 0.72),
    (0.16, 0.32, 0.40, 0.36, 0.44, 0.44, 0.48, 0.48, 0.48),
    (0.08, 0.16, 0.16, 0.24, 0.20, 0.20, 0.24, 0.24, 0.24),
)


class SuffixProposer:
    """The proposer `suffix`: drafts by repetition of the prompt and the output so far.

    Its evidence is AGREEMENTS times the bucket of the match length, plus the class of agreement.
    """

    name = "suffix"

    def __init__(self) -> None:
        self._text = SuffixAutomaton()

    def begin(self, ids: Sequence[int]) -> None:
        self._text.start_over(ids)

    def extend(self, ids: Sequence[int]) -> None:
        self._text.extend(ids)

    def propose(self, limit: int) -> Draft:
        match = self._text.match() if limit > 0 else None
        if match is None:
            return EMPTY
        evidence, prior = _weigh(match, _OWN)
        return Draft(self._text.continuation(match.position, limit), self.name, evidence, prior)

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""


class Index(Protocol):
    """Other texts: `learning.workspace.chains.ChainIndex` is one."""

    def match(self, tail: Sequence[int], limit: int, leave: int = -1) -> tuple[Match, tuple[int, ...]] | None:
        """The longest end of `tail` in texts of other owners than `leave`, and what follows it there."""
        ...


class CorpusProposer:
    """The proposer `corpus`: the same from other texts, such as the other files of a project."""

    name = "corpus"

    def __init__(self, index: Index | None = None) -> None:
        self._index = index
        self._leave = -1
        self._tail: list[int] = []

    def use(self, index: Index | None, *, leave: int = -1) -> None:
        """Draft from `index` from now on, but from what it has of the owner `leave`; None for nothing."""
        self._index, self._leave = index, leave

    def begin(self, ids: Sequence[int]) -> None:
        self._tail = list(ids[-DEPTH:])

    def extend(self, ids: Sequence[int]) -> None:
        self._tail = [*self._tail, *ids][-DEPTH:]

    def propose(self, limit: int) -> Draft:
        if self._index is None or limit < 1:
            return EMPTY
        found = self._index.match(self._tail, limit, self._leave)
        if found is None:
            return EMPTY
        match, ids = found
        evidence, prior = _weigh(match, _OTHERS)
        return Draft(ids, self.name, evidence, prior)

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""


def _weigh(match: Match, priors: Sequence[Sequence[float]]) -> tuple[int, float]:
    """The evidence of a match, and the chance of its first id as long as nothing was counted."""
    bucket = bisect_right(_LENGTHS, match.length)
    if match.seen == 1:
        agreement = 0
    elif match.agreed == match.seen:
        agreement = 1
    else:
        agreement = 2 if 3 * match.agreed >= 2 * match.seen else 3
    return AGREEMENTS * bucket + agreement, priors[agreement][bucket]
