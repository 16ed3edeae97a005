"""A suffix automaton over a growing sequence of token ids: where the latest ids stood before, and how often.

It is extended id by id in amortised constant time, and takes ids back just as it took them, so that a prompt
that is typed on need not be read again. Each state stands for the runs of ids that have stood at the same
places; of these places it keeps the latest and their number. Both are brought up to date for the `WALK`
longest runs that end at an id, so that long repetitions stay cheap: of shorter runs an earlier place may be
told and fewer of them be counted. Knows ids only.

Memory: at most two states per id, together about 1.3 KB with what is kept for taking back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

WALK = 12
_NONE = -1
_ROOT = 0


class Match(NamedTuple):
    """The longest run of ids that ends the sequence and stood in it before.

    `position` is that of the id that followed it there: of the id that followed most often, the latest of
    equals, the latest place. `seen` is how often the run stood before, `agreed` how often that id followed,
    and `latest` whether it followed the last time too.
    """

    length: int
    position: int
    seen: int
    agreed: int
    latest: bool


class SuffixAutomaton:
    """Mutable; `ids` is what it holds and not to be changed from outside."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._next: list[dict[int, int]] = [{}]
        self._link = [_NONE]
        self._length = [0]
        self._end = [_NONE]  # position of the last id of the run's latest occurrence
        self._count = [0]
        self._path: list[int] = [_ROOT]  # by length of the sequence: the state of all of it
        # By id: the transitions it changed, the state whose link it changed, the states it settled.
        self._undo: list[tuple[list[tuple[int, int]], int, list[tuple[int, int]]]] = []

    def __len__(self) -> int:
        return len(self.ids)

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]  # starting anew is what is meant

    def extend(self, ids: Iterable[int]) -> None:
        for token in ids:
            settled = self._settle()
            changed, split = self._push(token)
            self._undo.append((changed, split, settled))

    def truncate(self, length: int) -> None:
        """Take back all ids from position `length` on."""
        while len(self.ids) > length:
            self._pop()

    def start_over(self, ids: Sequence[int]) -> None:
        """Hold `ids` instead; what they begin with in common with those held is not read again."""
        mine = self.ids
        common = min(len(mine), len(ids))
        if mine[:common] != list(ids[:common]):
            common = next(i for i in range(common) if mine[i] != ids[i])
        if 2 * common < len(mine):
            self.clear()
            common = 0
        self.truncate(common)
        self.extend(ids[common:])

    def match(self) -> Match | None:
        """None where the last id never stood before."""
        state = self._link[self._path[-1]]
        if state <= _ROOT:
            return None
        ids, counts, ends = self.ids, self._count, self._end
        last = ids[ends[state] + 1]
        following = self._next[state]
        best = following[last]
        if len(following) > 1:
            most = counts[best]
            for child in following.values():
                if counts[child] > most:
                    most, best = counts[child], child
        return Match(self._length[state], ends[best], counts[state], counts[best], best == following[last])

    def continuation(self, position: int, limit: int) -> tuple[int, ...]:
        """The `limit` ids from `position` on, going round where they reach the end."""
        found = self.ids[position : position + limit]
        period = len(found)
        while len(found) < limit:
            found.append(found[-period])
        return tuple(found)

    def _settle(self) -> list[tuple[int, int]]:
        """Tell the runs that end the sequence and stood in it before of this place; their old ends."""
        link, ends, counts = self._link, self._end, self._count
        state, end = link[self._path[-1]], len(self.ids) - 1
        settled = []
        for _ in range(WALK):
            if state <= _ROOT:
                break
            settled.append((state, ends[state]))
            ends[state] = end
            counts[state] += 1
            state = link[state]
        return settled

    def _push(self, token: int) -> tuple[list[tuple[int, int]], int]:
        """Add a state for all of the sequence. Returns changed transitions and the state split, if any."""
        following, link, length = self._next, self._link, self._length
        last = self._path[-1]
        state = self._state(length[last] + 1, {}, _ROOT)
        self._end[state], self._count[state] = len(self.ids), 1
        changed: list[tuple[int, int]] = []
        while last != _NONE and token not in following[last]:
            following[last][token] = state
            changed.append((last, _NONE))
            last = link[last]
        split = _NONE
        if last != _NONE:
            target = following[last][token]
            if length[target] == length[last] + 1:
                link[state] = target
            else:
                split = target
                copy = self._state(length[last] + 1, following[target].copy(), link[target])
                self._end[copy], self._count[copy] = self._end[target], self._count[target]
                link[target] = link[state] = copy
                while last != _NONE and following[last].get(token) == target:
                    following[last][token] = copy
                    changed.append((last, target))
                    last = link[last]
        self.ids.append(token)
        self._path.append(state)
        return changed, split

    def _state(self, length: int, following: dict[int, int], link: int) -> int:
        self._next.append(following)
        self._link.append(link)
        self._length.append(length)
        self._end.append(_NONE)
        self._count.append(0)
        return len(self._link) - 1

    def _pop(self) -> None:
        token = self.ids.pop()
        self._path.pop()
        changed, split, settled = self._undo.pop()
        for state, target in changed:
            if target == _NONE:
                del self._next[state][token]
            else:
                self._next[state][token] = target
        if split != _NONE:
            self._link[split] = self._link.pop()
            self._drop_state(has_link=False)
        self._drop_state()
        for state, end in settled:
            self._end[state] = end
            self._count[state] -= 1

    def _drop_state(self, *, has_link: bool = True) -> None:
        if has_link:
            self._link.pop()
        self._next.pop()
        self._length.pop()
        self._end.pop()
        self._count.pop()
