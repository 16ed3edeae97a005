"""How likely the target is to accept a draft's next id, counted online.

Two things are counted. For each proposer, evidence and position: how often the id was accepted given that
all before it were, with a prior that stands in for counts not there yet. For each proposer and id: whether it
is accepted more or less often than those counts promise, as a factor on the odds; a bracket that must come is
surer than a name, and a draft is best cut before the id that tends to be wrong.
Every draft on offer teaches, also one that was not scored or was cut short, since it is compared with what
the target decided. Old counts fade, so that the estimate follows the document being edited. Knows no costs,
and nothing of an id but its number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from velospec.core.draft import Draft

_POSITIONS = 15  # positions from this on share one count
_WEIGHT = 12.0  # observations that the prior counts for
_MEMORY = 0.98  # what an observation leaves of the counts before it: about 50 remembered
_ID_WEIGHT = 1.0  # variance of observations that "this id is like all others" counts for
_ID_LIMIT = 2.0  # most that an id moves the log odds


class Acceptance:
    """Acceptance estimates of all proposers of an engine."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], _Row] = {}
        self._ids: dict[str, dict[int, _Id]] = {}  # by proposer

    def probability(self, draft: Draft, position: int) -> float:
        """The chance, 0 to 1, that id `position` of `draft` is accepted if all before it were.

        Raises:
            IndexError: the draft has no such position.
        """
        return self.chances(draft)[position]

    def chances(self, draft: Draft) -> list[float]:
        """The chance of each id of `draft`, by position. A few microseconds."""
        counted, ids = self._row(draft).chances, self._known(draft)
        result = []
        for position, token in enumerate(draft.ids):
            chance = counted[min(position, _POSITIONS)]
            known = ids.get(token)
            result.append(chance if known is None else scale_odds(chance, known.factor))
        return result

    def observe(self, draft: Draft, decided: Sequence[int]) -> None:
        """Take note that the target decided `decided` where `draft` was offered, scored or not."""
        row, ids = self._row(draft), self._known(draft)
        for position, (proposed, choice) in enumerate(zip(draft.ids, decided, strict=False)):
            accepted = proposed == choice
            known = ids.get(proposed)
            if known is None:
                known = ids[proposed] = _Id()
            known.count(row.chances[min(position, _POSITIONS)], accepted=accepted)
            row.count(position, accepted=accepted)
            if not accepted:
                break

    def _row(self, draft: Draft) -> _Row:
        key = (draft.proposer, draft.evidence)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = _Row(draft.prior)
        return row

    def _known(self, draft: Draft) -> dict[int, _Id]:
        known = self._ids.get(draft.proposer)
        if known is None:
            known = self._ids[draft.proposer] = {}
        return known


def scale_odds(chance: float, factor: float) -> float:
    """The chance whose odds are `factor` > 0 times those of `chance`, which lies between 0 and 1."""
    part = chance * factor
    return part / (1 - chance + part)


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


class _Id:
    """One id of one proposer: the factor on its odds with which the chances promised would have come true.

    One Newton step from "no difference" on the log odds, held back by `_ID_WEIGHT`.
    """

    __slots__ = ("_excess", "_variance", "factor")

    def __init__(self) -> None:
        self._excess = 0.0  # acceptances beyond those promised
        self._variance = 0.0
        self.factor = 1.0

    def count(self, promised: float, *, accepted: bool) -> None:
        self._excess = self._excess * _MEMORY + accepted - promised
        self._variance = self._variance * _MEMORY + promised * (1 - promised)
        shift = self._excess / (self._variance + _ID_WEIGHT)
        self.factor = math.exp(max(-_ID_LIMIT, min(_ID_LIMIT, shift)))
