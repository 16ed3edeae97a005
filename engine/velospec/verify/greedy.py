"""Greedy verification: how many draft ids the target agrees with, and what it chooses after them.

A row's choice is the id with the largest logit among those allowed and not banned, the lowest id on ties.
NaN never wins. Knows nothing of the KV cache, of text or of where the draft came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from velospec.backends.base import Logits
from velospec.constraints.base import Constraint, Ids
from velospec.core.draft import Draft, Verdict
from velospec.verify.base import Choice, follow
from velospec.verify.candidates import Candidates, Row


class GreedyVerifier:
    """Implements `verify.base.Verifier`; one serves all requests of a model.

    `banned` ids are never chosen; `end_ids` are chosen by the target alone.
    """

    def __init__(self, banned: Iterable[int] = (), end_ids: Iterable[int] = ()) -> None:
        self.banned = frozenset(banned)
        self.final = self.banned.union(end_ids)
        self._banned_ids = np.array(sorted(self.banned), dtype=np.intp)

    def decide(
        self,
        logits: Logits,
        draft: Draft,
        constraint: Constraint | None = None,
        written: Sequence[int] = (),  # noqa: ARG002  (of the protocol: what came before is in the logits)
    ) -> Verdict:
        """See `Verifier.decide`."""

        def choose(index: int) -> Choice:
            allowed = constraint.allowed(draft.ids[:index]) if constraint is not None else None
            return self._choose(logits[index], allowed)

        return follow(draft, choose)

    def _choose(self, row: Row, allowed: Ids | None) -> Choice:
        if allowed is None:
            # The cheap path: no copy, since the winner and the runner-up may nearly always be taken.
            choice = _unmasked(row, self.banned)
            if choice is not None:
                return choice
        candidates = Candidates.of(row, allowed, self._banned_ids)
        place, margin = candidates.best()
        return Choice(candidates.id_at(place), margin)


def _unmasked(row: Row, banned: frozenset[int]) -> Choice | None:
    """The choice where neither it nor the runner-up is banned and no logit is NaN; else None."""
    first = int(row.argmax())
    if first in banned or not np.isfinite(row[first]):
        return None
    others = [start + int(part.argmax()) for start, part in _around(row, first) if part.size]
    second = max(others, key=row.__getitem__, default=None)
    if second is None or second in banned:
        return None
    return Choice(first, float(row[first]) - float(row[second]))


def _around(row: Row, place: int) -> tuple[tuple[int, Row], tuple[int, Row]]:
    """What lies before and after `place`, each with where it starts."""
    return (0, row[:place]), (place + 1, row[place + 1 :])
