"""Suffix matching: what followed the longest earlier occurrence of the latest ids, in prompt and output.

An index of the n-grams up to `DEPTH` ids maps each to where its last two occurrences went on. An id adds
`DEPTH` entries and a proposal looks up at most as many, so the cost per id is constant; longer matches are
measured by walking back from the match, at most `LONGEST` ids. Of several occurrences of the longest indexed
match the last one counts, being the nearest in the code; whether the one before it went on alike is part of
the evidence. Sees ids only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from velospec.core.draft import EMPTY, Draft, Verdict

DEPTH = 8
LONGEST = 32

_LENGTHS = (2, 3, 4, 5, 7, 9, 13, 21)  # the least match lengths of buckets 1, 2, ...
# Chances of the first id by bucket, for evidence 0, 1 and 2 of `_agreement`.
_PRIORS = (
    (0.30, 0.45, 0.55, 0.62, 0.68, 0.75, 0.82, 0.87, 0.90),
    (0.45, 0.60, 0.68, 0.73, 0.78, 0.83, 0.88, 0.91, 0.94),
    (0.20, 0.35, 0.45, 0.50, 0.52, 0.60, 0.70, 0.75, 0.80),
)
_NONE = -1


class SuffixProposer:
    """Drafts by repetition.

    The evidence of a draft is three times the bucket of its match length, plus 0 where the match occurred
    once before, 1 where its last two occurrences went on with the same id, 2 where they did not.
    """

    name = "suffix"

    def __init__(self) -> None:
        self._ids: list[int] = []
        # [n - 1]: n-gram -> the position of the id that followed its last occurrence.
        self._followed: list[dict[tuple[int, ...], int]] = [{} for _ in range(DEPTH)]
        # [position][n - 1]: the same for the occurrence before the one that position followed.
        self._before: list[list[int]] = []

    def begin(self, ids: Sequence[int]) -> None:
        """Start anew; what the last request's ids have in common with `ids` need not be indexed again."""
        pairs = enumerate(zip(self._ids, ids, strict=False))
        common = next((i for i, (mine, theirs) in pairs if mine != theirs), min(len(self._ids), len(ids)))
        if 2 * common < len(self._ids):
            self._clear()
        while len(self._ids) > common:
            self._take_back()
        self.extend(ids[len(self._ids) :])

    def extend(self, ids: Sequence[int]) -> None:
        known = self._ids
        for token in ids:
            end = len(known)
            before = []
            for followed, gram in zip(self._followed, self._grams(end), strict=False):
                before.append(followed.get(gram, _NONE))
                followed[gram] = end
            self._before.append(before)
            known.append(token)

    def propose(self, limit: int) -> Draft:
        match = self._match() if limit > 0 else None
        if match is None:
            return EMPTY
        position, before, length = match
        bucket = bisect_right(_LENGTHS, self._measure(position, length))
        agreement = self._agreement(position, before)
        ids = tuple(self._continuation(position, limit))
        return Draft(ids, self.name, 3 * bucket + agreement, _PRIORS[agreement][bucket])

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def _clear(self) -> None:
        self._ids.clear()
        self._before.clear()
        for followed in self._followed:
            followed.clear()

    def _take_back(self) -> None:
        """Undo the last id."""
        self._ids.pop()
        before = self._before.pop()
        for followed, gram, last in zip(self._followed, self._grams(len(self._ids)), before, strict=False):
            if last == _NONE:
                del followed[gram]
            else:
                followed[gram] = last

    def _grams(self, end: int) -> list[tuple[int, ...]]:
        """The n-grams that end before position `end`, shortest first."""
        tail = tuple(self._ids[max(0, end - DEPTH) : end])
        return [tail[start:] for start in range(len(tail) - 1, -1, -1)]

    def _match(self) -> tuple[int, int, int] | None:
        """Where the last two occurrences of the longest indexed match went on, and its length."""
        grams = self._grams(len(self._ids))
        for length in range(len(grams), 0, -1):
            position = self._followed[length - 1].get(grams[length - 1])
            if position is not None:
                return position, self._before[position][length - 1], length
        return None

    def _agreement(self, position: int, before: int) -> int:
        if before == _NONE:
            return 0
        return 1 if self._ids[before] == self._ids[position] else 2

    def _measure(self, position: int, length: int) -> int:
        ids, end = self._ids, len(self._ids)
        while length < min(LONGEST, position) and ids[position - length - 1] == ids[end - length - 1]:
            length += 1
        return length

    def _continuation(self, position: int, limit: int) -> list[int]:
        """The `limit` ids from `position` on, going round where the match overlaps the end."""
        found = self._ids[position : position + limit]
        period = len(found)
        while len(found) < limit:
            found.append(found[-period])
        return found
