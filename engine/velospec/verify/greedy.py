"""Greedy verification: how many draft ids the target agrees with, and what it chooses after them.

A row's choice is the id with the largest logit among those allowed and not banned, the lowest id on ties.
NaN never wins. Knows nothing of the KV cache, of text or of where the draft came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from velospec.backends.base import Logits
from velospec.constraints.base import Constraint
from velospec.core.draft import Draft, Verdict
from velospec.verify.base import Choice, follow
from velospec.verify.candidates import Candidates, Row
from velospec.verify.distribution import largest

_MOST_ASKED = 256  # ids that are asked about, one by one, before a slow mask is made


class GreedyVerifier:
    """Implements `verify.base.Verifier`; one serves all requests of a model.

    `banned` ids are never chosen; `end_ids` are chosen by the target alone.
    """

    def __init__(self, banned: Iterable[int] = (), end_ids: Iterable[int] = ()) -> None:
        self.banned = frozenset(banned)
        self._end_ids = frozenset(end_ids)
        self.final = self.banned | self._end_ids
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
            return self._choose(logits[index], constraint, draft.ids[:index])

        return follow(draft, choose)

    def _choose(self, row: Row, constraint: Constraint | None, ahead: Sequence[int]) -> Choice:
        """The choice in `row`, as a mask would make it, though mostly without one.

        Where the likeliest id is allowed, no mask could change that; the margin is then over the likeliest
        other id, allowed or not, which is the least that it can be.
        """
        choice = _unmasked(row, self.banned)
        if choice is not None and (constraint is None or self._may_choose(choice.token, constraint, ahead)):
            return choice
        if constraint is not None and constraint.slow_masks:
            choice = self._by_asking(row, constraint, ahead)
            if choice is not None:
                return choice
        allowed = constraint.allowed(ahead) if constraint is not None else None
        candidates = Candidates.of(row, allowed, self._banned_ids)
        place, margin = candidates.best()
        return Choice(candidates.id_at(place), margin)

    def _may_choose(self, token: int, constraint: Constraint, ahead: Sequence[int]) -> bool:
        return constraint.allows(ahead, token) or (token in self._end_ids and constraint.ends(ahead))

    def _by_asking(self, row: Row, constraint: Constraint, ahead: Sequence[int]) -> Choice | None:
        """The likeliest id that is allowed, found by asking about one after the other; None if none soon."""
        candidates = Candidates.of(row, None, self._banned_ids)
        values = np.where(np.isnan(candidates.values), -np.inf, candidates.values)
        likeliest = largest(values, min(_MOST_ASKED, values.size))
        for token in likeliest[np.argsort(-values[likeliest], kind="stable")].tolist():
            if np.isfinite(values[token]) and constraint.allows(ahead, token):
                return Choice(token, 0.0)
        return None


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
