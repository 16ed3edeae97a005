"""The index of a workspace that changes: where the latest ids stand in its blocks, and what follows there.

For each of a few context lengths, places with the same ids before them hang in one chain, the latest first,
by a hash of these ids. A look-up begins with the longest length and walks its chain for a few places, which
it compares with the text. Putting a block in and taking it out touches its own places only, and the places
of what was taken out are used again. Keeps ids only: no names, no texts.

Memory: 28 bytes per id that there is room for, and 20 to 40 for the chains' heads; 49 MB for a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from velospec.learning.automaton import Match
from velospec.learning.workspace.hashing import LENGTHS, block_chains, context_chains

DEPTH = 32
"""Ids of the longest context that is told from longer ones."""
LOOK = 24
"""Places of a chain that a look-up asks, at the most; they are the latest."""

FREE = -1
"""The id of a place that holds none, and that borders a block."""
MAX_IDS = 1_500_000
"""Ids that an index should hold at the most."""

_STEPS = 96  # places that it passes in all, those that only share the hash, or are not to be asked, too
_FAR = 12  # places that taking out a place passes to find what hangs on it
_GRAIN = 32  # a block's places are a multiple of this
_LEAST_BITS = 8


class Span(NamedTuple):
    """Where a block's ids lie: places `start` to before `end`."""

    start: int
    end: int


class ChainIndex:
    """Blocks of ids, each of an owner (a document's number), of which a look-up may leave one out."""

    def __init__(self, room: int = 1 << 14) -> None:
        """`room` is for how many ids there is place before the arrays grow."""
        self._end = 1  # place 0 is none
        self._free: dict[int, list[int]] = {}  # starts of unused spans by width
        self.live = 0
        """Ids held."""
        self.lost = 0
        """Places that can not be used again before the index is made anew."""
        self._allocate(room)

    @classmethod
    def of(cls, texts: Iterable[Sequence[int]], *, limit: int = MAX_IDS) -> ChainIndex:
        """An index of whole texts; what is beyond `limit` ids is left out."""
        kept: list[Sequence[int]] = []
        for text in texts:
            kept.append(text[:limit])
            limit -= len(kept[-1])
        index = cls(sum(_width(len(text)) + 1 for text in kept) + 2)
        for text in kept:
            index.add(text, 0)
        return index

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(a.nbytes for a in (self._ids, self._owners, *self._heads, *self._links))

    @property
    def crowded(self) -> bool:
        """Whether it had better be made anew: much is lost, or there are too few chains by now."""
        return self.lost > max(self.live // 2, _GRAIN << 10) or self.live > 2 * len(self._heads[0])

    def add(self, ids: Sequence[int], owner: int) -> Span:
        """Put a block in; it counts as later than those put in before."""
        size = len(ids)
        span = self._take(size)
        start, end = span
        block = np.asarray(ids, np.int64)
        self._ids[start:end] = block
        self._owners[start:end] = owner
        for level, slots in block_chains(block, self._shift):
            heads, links = self._heads[level].data, self._links[level].data
            for place, slot in enumerate(slots, start + LENGTHS[level]):
                links[place] = heads[slot]
                heads[slot] = place
        self.live += size
        return span

    def remove(self, span: Span) -> None:
        """Take a block out, whose span `add` gave."""
        start, end = span
        block = self._ids[start:end].astype(np.int64)
        clean = True
        for level, slots in block_chains(block, self._shift):
            heads, links = self._heads[level].data, self._links[level].data
            for place, slot in enumerate(slots, start + LENGTHS[level]):
                clean &= _unhang(heads, links, place, slot)
        self._ids[start:end] = FREE
        self.live -= end - start
        if clean:
            self._free.setdefault(_width(end - start), []).append(start)
        else:
            self.lost += _width(end - start)

    def drop(self, span: Span) -> None:
        """Take a block out at once, in no time, and lose its places."""
        start, end = span
        self._ids[start:end] = FREE
        self.live -= end - start
        self.lost += _width(end - start)

    def match(self, tail: Sequence[int], limit: int, leave: int = -1) -> tuple[Match, tuple[int, ...]] | None:
        """The longest end of `tail` that stands in a block, at most DEPTH ids, and what follows it there.

        Of places with equally long matches at most LOOK, the latest, are asked; the id that follows most
        often counts, of equals the latest. What follows has at most `limit` ids and ends where its block does
        or the places go different ways. Blocks of the owner `leave` are left out.
        """
        found = self._places(tail, leave)
        if found is None:
            return None
        places, length = found
        latest = self.ids[places[0]]
        asked = len(places)
        places = self._vote(places, 0)
        first = self.ids[places[0]]
        match = Match(length, places[0], asked, len(places), latest == first)
        if asked == 1:
            return match, tuple(self._text(places[0], limit))
        return match, tuple(self.common(places, limit))

    def _places(self, tail: Sequence[int], leave: int) -> tuple[list[int], int] | None:
        """The places with the longest match, the latest first, and its length."""
        turned = tail[: -DEPTH - 1 : -1]
        chains = context_chains(turned, self._shift)
        for level in range(len(chains) - 1, -1, -1):
            places, length = self._walk(level, chains[level], turned, leave)
            if places:
                return places, length
        return None

    def _walk(self, level: int, slot: int, turned: Sequence[int], leave: int) -> tuple[list[int], int]:
        """The places of a chain with the longest match, which is no shorter than the level's, and its length.

        `turned` are the ids to match, the last first.
        """
        ids, owners, links = self.ids, self.owners, self._links[level].data
        place, best = self._heads[level].data[slot], LENGTHS[level]
        found: list[int] = []
        for _ in range(_STEPS):
            if not place:
                break
            length = 0
            for token in turned:
                if ids[place - length - 1] != token:
                    break
                length += 1
            if length >= best and owners[place] != leave:
                if length > best:
                    best, found = length, []
                found.append(place)
                if len(found) == LOOK:
                    break
            place = links[place]
        return found, best

    def places(self, tail: Sequence[int], level: int, leave: int = -1) -> list[int]:
        """The latest places with the last LENGTHS[level] ids of `tail` before them, at most LOOK."""
        length = LENGTHS[level]
        turned = tail[: -length - 1 : -1]
        if len(turned) < length:
            return []
        slot = context_chains(turned, self._shift)[level]
        ids, owners, links = self.ids, self.owners, self._links[level].data
        place, found = self._heads[level].data[slot], list[int]()
        for _ in range(_STEPS):
            if not place:
                break
            if owners[place] != leave:
                for back, token in enumerate(turned, 1):
                    if ids[place - back] != token:
                        break
                else:
                    found.append(place)
                    if len(found) == LOOK:
                        break
            place = links[place]
        return found

    def _text(self, place: int, limit: int) -> list[int]:
        """At most `limit` ids from `place` on, not beyond the end of their block."""
        found = self.ids[place : place + limit].tolist()
        return found[: found.index(FREE)] if FREE in found else found

    def common(self, places: list[int], limit: int) -> list[int]:
        """At most `limit` ids that follow at the places that agree on the first; on each, most agree."""
        following = [self.ids[places[0]]]
        while len(following) < limit and len(places) > 1:
            votes = len(places)
            places = self._vote(places, len(following))
            token = self.ids[places[0] + len(following)]
            if token == FREE or not (len(places) > 1 and 3 * len(places) >= 2 * votes):
                break
            following.append(token)
        return following

    def _vote(self, places: list[int], ahead: int) -> list[int]:
        """Those of `places` with the most frequent id `ahead` of them; of equals, that of the first place."""
        ids = self.ids
        followers = [ids[place + ahead] for place in places]
        first = followers[0]
        if followers.count(first) == len(followers):
            return places
        winner = max(dict.fromkeys(followers), key=followers.count)
        return [place for place, follower in zip(places, followers, strict=True) if follower == winner]

    def _take(self, size: int) -> Span:
        """A span for so many ids, with a free place on either side."""
        width = _width(size)
        known = self._free.get(width)
        if known:
            start = known.pop()
        else:
            start = self._end + 1
            self._end = start + width
            if self._end + 1 > len(self._ids):
                self._grow(self._end + 1)
        return Span(start, start + size)

    def _allocate(self, room: int) -> None:
        bits = max(_LEAST_BITS, (room - 1).bit_length())
        self._shift = 64 - bits
        self._ids = np.full(room, FREE, np.int32)
        self._owners = np.zeros(room, np.int32)
        self._links = [np.zeros(room, np.int32) for _ in LENGTHS]
        self._heads = [np.zeros(1 << bits, np.int32) for _ in LENGTHS]
        self.ids, self.owners = self._ids.data, self._owners.data

    def _grow(self, room: int) -> None:
        """Room for twice as many ids. The chains stay as they are: longer, until the index is made anew."""
        more = max(room, 2 * len(self._ids)) - len(self._ids)
        self._ids = np.concatenate((self._ids, np.full(more, FREE, np.int32)))
        self._owners = np.concatenate((self._owners, np.zeros(more, np.int32)))
        self._links = [np.concatenate((links, np.zeros(more, np.int32))) for links in self._links]
        self.ids, self.owners = self._ids.data, self._owners.data


def _width(size: int) -> int:
    """The places that a block of so many ids takes: a few more, so that it may grow in place."""
    return -(-size // _GRAIN) * _GRAIN


def _unhang(heads: memoryview, links: memoryview, place: int, slot: int) -> bool:
    """Take a place out of its chain; False where it hangs too far down to be looked for."""
    at = heads[slot]
    if at == place:
        heads[slot] = links[place]
        return True
    for _ in range(_FAR):
        if not at:
            return False
        following = links[at]
        if following == place:
            links[at] = links[place]
            return True
        at = following
    return False
