"""The index of a corpus: where the latest ids stand in other texts, how often, and what follows there.

All places of the corpus are sorted by the ids before them, read backwards, so that the places that have a
context in common lie side by side, and each id more of the context narrows them by bisection: O(log n) for an
id, a few for a query. An index is made once and never changes; several engines may share one, and a newer one
takes its place between two requests. Keeps ids only: no names, no texts.

Memory: 8 bytes per id, at most `MAX_IDS` of them, and 8 per different id; about 100 bytes per id while it is
made.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from velospec.learning.automaton import Match

MAX_IDS = 1_000_000
DEPTH = 32
"""Ids of the longest context that is told from longer ones."""

_BORDER = -1  # stands before and behind each text
_VOTES = 32  # of the places found, so many say what follows


class CorpusIndex:
    """Made of texts in ids; what is beyond `limit` ids is left out."""

    def __init__(self, texts: Iterable[Sequence[int]], *, limit: int = MAX_IDS) -> None:
        ids = array("i", [_BORDER])
        for text in texts:
            ids.extend(text[: max(0, limit - len(ids))])
            ids.append(_BORDER)
            if len(ids) >= limit:
                break
        self._ids = ids
        numbers = np.array(ids, np.int64)
        places = _sorted_places(numbers)
        self._places = array("i", places.astype(np.intc).tobytes())
        # Each last id of a context once, and where the places behind it begin: it spares the longest search.
        lasts, starts = np.unique(numbers[places - 1], return_index=True)
        self._lasts = array("i", lasts.astype(np.intc).tobytes())
        self._starts = array("i", [*starts.tolist(), len(places)])

    def __len__(self) -> int:
        """The number of ids, borders of texts not counted."""
        return len(self._places)

    def match(self, tail: Sequence[int], limit: int) -> tuple[Match, tuple[int, ...]] | None:
        """The longest end of `tail` that stands in the corpus, at most DEPTH ids, and what follows it there.

        Where several ids follow it, the one that does so most often; of equals, the one last in the corpus.
        What follows has at most `limit` ids, and ends where its text does or, if the match stands in several
        places, where they go different ways. None if no id of `tail` stands in the corpus with an id behind.
        """
        low, high, length = self._narrow(tail)
        if not length:
            return None
        places: Sequence[int] = self._places[low : min(high, low + _VOTES)]
        latest, asked = self._ids[max(places)], len(places)
        places = self._vote(places, 0)
        position = max(places)
        # What the places not asked say is taken to be alike.
        agreed = (high - low) * len(places) // asked
        match = Match(length, position, high - low, agreed, latest == self._ids[position])
        if asked == 1:
            return match, tuple(self._text(position, limit))
        return match, tuple(self._common(places, limit))

    def _text(self, position: int, limit: int) -> Sequence[int]:
        """At most `limit` ids from `position` on, not beyond the end of their text."""
        found = self._ids[position : position + limit]
        return found[: found.index(_BORDER)] if _BORDER in found else found

    def _common(self, places: Sequence[int], limit: int) -> list[int]:
        """At most `limit` ids that follow at the places that agree on the first; on each, most agree."""
        following = [self._ids[places[0]]]
        while len(following) < limit and len(places) > 1:
            votes = len(places)
            places = self._vote(places, len(following))
            token = self._ids[places[0] + len(following)]
            if token == _BORDER or not _decides(len(places), votes):
                break
            following.append(token)
        return following

    def _vote(self, places: Sequence[int], ahead: int) -> Sequence[int]:
        """Those of `places` with the most frequent id `ahead` of them; of equals, that of the last place."""
        ids = self._ids
        followers = [ids[place + ahead] for place in places]
        if followers.count(followers[0]) == len(followers):
            return places
        counts: dict[int, int] = {}
        for follower in followers:
            counts[follower] = counts.get(follower, 0) + 1
        most = max(counts.values())
        last = max(place for place, f in zip(places, followers, strict=True) if counts[f] == most)
        winner = ids[last + ahead]
        return [place for place, f in zip(places, followers, strict=True) if f == winner]

    def _narrow(self, tail: Sequence[int]) -> tuple[int, int, int]:
        """The range of places whose context is the longest end of `tail` that there is, and its length."""
        ids, places = self._ids, self._places
        low, high = self._behind(tail[-1]) if tail else (0, 0)
        if low == high:
            return 0, 0, 0
        length = 1
        for token in tail[-2 : -DEPTH - 1 : -1]:
            back = length + 1
            if high - low == 1:  # one text left: compare it, which needs no search
                if ids[places[low] - back] != token:
                    break
            else:

                def before(place: int, back: int = back) -> int:
                    return ids[place - back]

                left = bisect_left(places, token, low, high, key=before)
                if left == high or before(places[left]) != token:
                    break
                # All that are left may well have it, where texts repeat each other.
                if before(places[high - 1]) != token:
                    high = bisect_right(places, token, left, high, key=before)
                low = left
            length += 1
        return low, high, length

    def _behind(self, token: int) -> tuple[int, int]:
        """The range of places right behind `token`."""
        number = bisect_left(self._lasts, token)
        if number == len(self._lasts) or self._lasts[number] != token:
            return 0, 0
        return self._starts[number], self._starts[number + 1]


def _decides(agreed: int, votes: int) -> bool:
    """Whether so many of the votes say enough of what follows."""
    return agreed > 1 and 3 * agreed >= 2 * votes


def _sorted_places(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The places of all ids that are no border, sorted by up to DEPTH ids before them, nearest first.

    Ranks by 1, 2, 4 ... ids are made of those by half as many.
    """
    if len(ids) < 2:
        return np.zeros(0, np.int64)
    ranks = np.unique(np.concatenate(([_BORDER], ids[:-1])), return_inverse=True)[1]
    reach = 1
    while reach < DEPTH:
        earlier = np.concatenate((np.zeros(min(reach, len(ids)), np.int64), ranks))[: len(ids)]
        ranks = np.unique(ranks * len(ids) + earlier, return_inverse=True)[1]
        reach *= 2
    places = np.flatnonzero(ids != _BORDER)
    return places[np.argsort(ranks[places], kind="stable")]
