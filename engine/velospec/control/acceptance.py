"""How likely the target is to accept a draft's next id, counted online.

Counts are kept for each proposer, evidence and position, as the chance that position i is accepted given
that all before it were. Every draft on offer teaches, also one that was not scored or was cut short, since it
is compared with what the target decided. A prior stands in for counts not there yet, and old counts fade, so
that the estimate follows the document being edited. Knows no costs.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.core.draft import Draft

_POSITIONS = 8  # positions from this on share one count
_WEIGHT = 6.0  # observations that the prior counts for
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

    def observe(self, draft: Draft, decided: Sequence[int]) -> None:
        """Take note that the target decided `decided` where `draft` was offered, scored or not."""
        row = self._row(draft)
        for position, (proposed, choice) in enumerate(zip(draft.ids, decided, strict=False)):
            row.count(position, accepted=proposed == choice)
            if proposed != choice:
                break

    def _row(self, draft: Draft) -> _Row:
        key = (draft.proposer, draft.evidence)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = _Row(draft.prior)
        return row


class _Row:
    """One proposer and evidence: counts and chances by position."""

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
