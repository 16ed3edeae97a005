"""How likely the target is to accept a draft's next id, counted online.

Counts are kept for each proposer, evidence bucket and position, as the chance that position i is accepted
given that all before it were. A prior stands in for counts not there yet, and old counts fade, so that the
estimate follows the document being edited. Knows no ids and no costs.
"""

from __future__ import annotations

from bisect import bisect_right

from velospec.core.draft import Draft, Verdict

_BUCKETS = (2, 3, 4, 5, 7, 9, 13, 21)  # least evidence of buckets 1, 2, ...; bucket 0 is below the first
_PRIORS = (0.25, 0.4, 0.5, 0.6, 0.68, 0.75, 0.82, 0.87, 0.9)  # first position, per bucket
_POSITIONS = 8  # positions from this on share one count
_WEIGHT = 4.0  # observations that the prior counts for
_MEMORY = 0.97  # what an observation leaves of the counts before it: about 33 remembered


class Acceptance:
    """Acceptance estimates of all proposers of an engine."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], _Row] = {}

    def probability(self, draft: Draft, position: int) -> float:
        """The chance, 0 to 1, that id `position` of `draft` is accepted if all before it were."""
        return self.curve(draft)[min(position, _POSITIONS)]

    def curve(self, draft: Draft) -> list[float]:
        """The chances by position, the last standing for all later positions; not to be changed."""
        return self._row(draft).chances

    def observe(self, verdict: Verdict) -> None:
        row = self._row(verdict.draft)
        for position in range(verdict.accepted):
            row.count(position, accepted=True)
        if verdict.rejected:
            row.count(verdict.accepted, accepted=False)

    def _row(self, draft: Draft) -> _Row:
        bucket = bisect_right(_BUCKETS, draft.evidence)
        row = self._rows.get((draft.proposer, bucket))
        if row is None:
            row = self._rows[draft.proposer, bucket] = _Row(_PRIORS[bucket])
        return row


class _Row:
    """One proposer and evidence bucket: counts and chances by position."""

    __slots__ = ("_accepted", "_priors", "_seen", "chances")

    def __init__(self, first: float) -> None:
        # Each id accepted is evidence for the next: the prior moves towards certainty with the position.
        self._priors = [1 - (1 - first) * 0.75**position for position in range(_POSITIONS + 1)]
        self._seen = [0.0] * (_POSITIONS + 1)
        self._accepted = [0.0] * (_POSITIONS + 1)
        self.chances = list(self._priors)

    def count(self, position: int, *, accepted: bool) -> None:
        position = min(position, _POSITIONS)
        seen = self._seen[position] = self._seen[position] * _MEMORY + 1
        hits = self._accepted[position] = self._accepted[position] * _MEMORY + accepted
        self.chances[position] = (hits + _WEIGHT * self._priors[position]) / (seen + _WEIGHT)
