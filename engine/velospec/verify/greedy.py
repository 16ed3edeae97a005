"""Greedy verification: how many draft ids the target agrees with, and what it chooses after them.

A row's choice is the id with the largest logit among those allowed and not banned, the lowest id on ties.
NaN never wins. Rows behind the first disagreement are not looked at. Knows nothing of the KV cache, of
text or of where the draft came from.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from velospec.backends.base import Logits
from velospec.constraints.base import Constraint, Ids
from velospec.core.draft import Draft, Verdict
from velospec.core.errors import BackendError

Row = npt.NDArray[np.float32]


class GreedyVerifier:
    """Decides drafts for one model.

    `banned` ids are never chosen; `final` ids make no sense in a draft, since they are banned or nothing
    follows them.
    """

    def __init__(self, banned: Iterable[int] = (), end_ids: Iterable[int] = ()) -> None:
        self.banned = frozenset(banned)
        self.final = self.banned.union(end_ids)
        self._banned_ids = np.array(sorted(self.banned), dtype=np.int64)

    def decide(self, logits: Logits, draft: Draft, constraint: Constraint | None = None) -> Verdict:
        """The verdict on `draft`.

        Args:
            logits: float32, shape [rows, vocabulary]; row 0 follows the pending token, row i follows draft
                id i - 1. There may be more rows than draft ids (a filler); they are ignored.
            draft: The ids that were scored.
            constraint: Restricts every row; not moved.

        Raises:
            BackendError: A row has no finite logit among the ids allowed there.
        """
        ids = draft.ids
        margins: list[float] = []
        for index, proposed in enumerate(ids):
            choice = self._choose(logits[index], constraint, ids[:index], margins)
            if choice != proposed:
                return Verdict(draft, index, choice, tuple(margins))
        bonus = self._choose(logits[len(ids)], constraint, ids, margins)
        return Verdict(draft, len(ids), bonus, tuple(margins))

    def _choose(
        self, row: Row, constraint: Constraint | None, ahead: tuple[int, ...], margins: list[float]
    ) -> int:
        allowed = constraint.allowed(ahead) if constraint is not None else None
        if allowed is None:
            # The cheap path: one argmax, and a mask only where the winner may not be taken.
            choice = int(row.argmax())
            if choice not in self.banned and not np.isnan(row[choice]):
                margins.append(_margin(row, choice))
                return choice
        return self._choose_masked(row, allowed, margins)

    def _choose_masked(self, row: Row, allowed: Ids | None, margins: list[float]) -> int:
        masked = np.full(row.shape, -np.inf, dtype=np.float32)
        if allowed is None:
            masked[:] = row
        else:
            masked[allowed] = row[allowed]
        masked[self._banned_ids] = -np.inf
        masked[np.isnan(masked)] = -np.inf
        choice = int(masked.argmax())
        if masked[choice] == -np.inf:
            raise BackendError(
                "The model gave no usable logit for any id that may come next.",
                "If this happens again, reinstall the model: `velospec model install`.",
            )
        margins.append(_margin(masked, choice))
        return choice


def _margin(row: Row, choice: int) -> float:
    """How far `choice` is above the next best; two passes over a row cost less than a partition of it."""
    best = row[choice]
    row[choice] = -np.inf
    margin = float(best - row.max())
    row[choice] = best
    return margin
