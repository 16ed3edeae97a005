"""Draft lengths without costs or chances, as others choose them: to be compared with `selector`.

All take the first draft on offer, in the order in which proposers are asked. `AdaptiveK` is the windowed
controller of structspec, with its published numbers; `DensityK` the rule of the first VeloSpec (its
configuration C4); `FixedK` what prompt lookup does. Know no ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from velospec.control.policy import Cost
from velospec.core.draft import EMPTY, Draft, Verdict

_WINDOW = 10  # rounds whose acceptance counts
_UP, _DOWN = 0.93, 0.80  # acceptance above and below which the length moves by one
_FIRST, _LEAST, _MOST = 4, 1, 12
_FULL_REJECT = 2  # by so much shorter when not one id was accepted
_REJECTS = 5  # in a row, until a proposer rests
_REST = 16  # steps; the publication leaves their number open

_DENSITIES = ((0.005, 8), (0.02, 4))  # below this share of the vocabulary, this length
_LENGTH_ELSEWHERE = 1


class FixedK:
    """The policy of one length for all drafts."""

    exact_density = False

    def __init__(self, cost: Cost, length: int, *, min_rows: int = 1) -> None:
        """`cost` is only kept up to date; nothing is chosen by it."""
        self.cost = cost
        self._length = length
        self._min_rows = min_rows

    def begin(self) -> None:
        """Nothing is remembered of the request before."""

    def look(self, density: float) -> None:
        """A length that is fixed does not depend on it."""

    def choose(self, drafts: Sequence[Draft], context: int = 0) -> Draft:  # noqa: ARG002  (a protocol)
        return next((draft.cut(self.length()) for draft in drafts), EMPTY)

    def observe(self, drafts: Sequence[Draft], verdict: Verdict, context: int, seconds: float) -> None:  # noqa: ARG002  (a protocol)
        self.cost.observe(max(len(verdict.draft) + 1, self._min_rows), context, seconds)

    def spent(self, seconds: float) -> None:
        """A length that is fixed does not depend on it."""

    def length(self) -> int:
        """The most ids of the next draft."""
        return self._length


class DensityK(FixedK):
    """The policy of a length by the share of the vocabulary that the grammar allows."""

    exact_density = True

    def __init__(self, cost: Cost, *, min_rows: int = 1) -> None:
        super().__init__(cost, _LENGTH_ELSEWHERE, min_rows=min_rows)

    def look(self, density: float) -> None:
        self._length = length_for(density)


def length_for(density: float) -> int:
    """The published length where the grammar allows `density`, a share from 0 to 1, of the vocabulary."""
    return next((length for bound, length in _DENSITIES if density < bound), _LENGTH_ELSEWHERE)


class AdaptiveK(FixedK):
    """The policy of a length that follows the acceptance of the last rounds."""

    def __init__(self, cost: Cost, *, min_rows: int = 1) -> None:
        super().__init__(cost, _FIRST, min_rows=min_rows)
        self._rounds: deque[tuple[int, int]] = deque(maxlen=_WINDOW)  # drafted, accepted
        self._rejects: dict[str, int] = {}  # by proposer, in a row
        self._rests: dict[str, int] = {}  # steps left

    def choose(self, drafts: Sequence[Draft], context: int = 0) -> Draft:
        awake = [draft for draft in drafts if not self._rests.get(draft.proposer)]
        return super().choose(awake, context)

    def observe(self, drafts: Sequence[Draft], verdict: Verdict, context: int, seconds: float) -> None:
        super().observe(drafts, verdict, context, seconds)
        self._rests = {name: steps - 1 for name, steps in self._rests.items() if steps > 1}
        if verdict.draft.ids:
            self._count(verdict.draft.proposer, len(verdict.draft), verdict.accepted)

    def _count(self, proposer: str, drafted: int, accepted: int) -> None:
        self._rounds.append((drafted, accepted))
        self._rejects[proposer] = 0 if accepted else self._rejects.get(proposer, 0) + 1
        if self._rejects[proposer] >= _REJECTS:
            self._rests[proposer], self._rejects[proposer] = _REST, 0
        if not accepted:
            self._move(-_FULL_REJECT)
            return
        rate = sum(right for _, right in self._rounds) / sum(all_ids for all_ids, _ in self._rounds)
        if rate > _UP:
            self._move(1)
        elif rate < _DOWN:
            self._move(-1)

    def _move(self, change: int) -> None:
        self._length = max(_LEAST, min(_MOST, self._length + change))
