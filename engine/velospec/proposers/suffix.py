"""Suffix matching: what followed the longest earlier occurrence of the latest ids, in prompt and output.

An index of the n-grams up to `DEPTH` ids maps each to where it last ended. A step adds `DEPTH` entries and
looks up at most as many, so the cost per id is constant; longer matches are measured by walking back from
the match, at most `LONGEST` ids. Of several occurrences of the longest indexed match the last one counts,
being the nearest in the code. Sees ids only.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.core.draft import EMPTY, Draft, Verdict

DEPTH = 8
LONGEST = 32


class SuffixProposer:
    """Drafts by repetition. The evidence of a draft is the length of its match, 1 to `LONGEST`."""

    name = "suffix"

    def __init__(self) -> None:
        self._ids: list[int] = []
        # [n - 1]: n-gram -> the position behind its last occurrence that something follows.
        self._followed: list[dict[tuple[int, ...], int]] = [{} for _ in range(DEPTH)]

    def begin(self, ids: Sequence[int]) -> None:
        self._ids = []
        for index in self._followed:
            index.clear()
        self.extend(ids)

    def extend(self, ids: Sequence[int]) -> None:
        known = self._ids
        for token in ids:
            end = len(known)
            tail = tuple(known[-DEPTH:])
            for skip in range(len(tail)):
                self._followed[len(tail) - skip - 1][tail[skip:]] = end
            known.append(token)

    def propose(self, limit: int) -> Draft:
        position, length = self._match()
        if not length or limit < 1:
            return EMPTY
        return Draft(tuple(self._continuation(position, limit)), self.name, length)

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def _match(self) -> tuple[int, int]:
        """The position behind the last occurrence of the longest match, and the match's length."""
        tail = tuple(self._ids[-DEPTH:])
        for skip in range(len(tail)):
            position = self._followed[len(tail) - skip - 1].get(tail[skip:])
            if position is not None:
                return position, self._measure(position, len(tail) - skip)
        return 0, 0

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
