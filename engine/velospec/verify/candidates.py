"""The ids that one row lets the target choose from, with their logits: constraint and bans applied, NaN gone.

Knows one row of logits at a time, nothing of drafts, randomness or requests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from velospec.constraints.base import Ids
from velospec.core.errors import BackendError

Row = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]  # of ids or candidates


@dataclass(frozen=True, slots=True)
class Candidates:
    """The logits of one row that count, in the order of their ids: a copy, free to be changed."""

    values: Row  # float32, shape [candidates]; -inf where an id may not be chosen
    ids: Ids | None  # shape [candidates], ascending; None where candidate i is id i

    @classmethod
    def of(cls, row: Row, allowed: Ids | None, banned: Places) -> Candidates:
        """The candidates of `row`: the sorted ids `allowed` (None: all) that are not `banned`."""
        candidates = cls(row.copy() if allowed is None else row[allowed], allowed)
        candidates.values[candidates.places(banned)] = -np.inf
        return candidates

    def places(self, ids: Places) -> Places:
        """Where those of `ids` stand that are among the candidates."""
        if self.ids is None:
            return ids
        places = np.searchsorted(self.ids, ids)
        inside = places < self.ids.size
        places, ids = places[inside], ids[inside]
        found: Places = places[self.ids[places] == ids]
        return found

    def id_at(self, place: int) -> int:
        """The id of candidate number `place`."""
        return place if self.ids is None else int(self.ids[place])

    def best(self) -> tuple[int, float]:
        """The place of the largest value, the lowest of equals, and its margin over the next; NaN never wins.

        Raises BackendError where no value is finite.
        """
        values = self.values
        if values.size:
            first, margin = leader(values)
            if np.isnan(values[first]):
                values[np.isnan(values)] = -np.inf
                first, margin = leader(values)
            if np.isfinite(values[first]):
                return first, margin
        raise BackendError(
            "The model gave no usable logit for any id that may come next.",
            "If this happens again, reinstall the model: `velospec model install`.",
        )


def leader(values: Row) -> tuple[int, float]:
    """The place of the largest value, the lowest of equals, and how far it is above the next; none is NaN.

    With a NaN the place is that of the first NaN. Two passes, 30 us for 152,000 values, where a partition
    takes 1 ms.
    """
    first = int(values.argmax())
    before, after = values[:first], values[first + 1 :]
    second = max(float(before.max(initial=-np.inf)), float(after.max(initial=-np.inf)))
    best = float(values[first])
    return first, 0.0 if best == second else best - second
