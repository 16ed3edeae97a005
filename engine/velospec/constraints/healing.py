"""Token healing: the first new bytes must begin with the bytes that were taken back from the prompt.

When the cursor stands inside a token, the prompt ends one token early and the model decides again,
restricted to ids that reproduce the bytes taken back. Knows bytes and ids, no logits and no document.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from velospec.backends.base import Vocabulary
from velospec.constraints.base import Ids


class ByteTable:
    """The ids of a vocabulary sorted by their bytes; made once per model, shared by its requests."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Reads every piece of `vocabulary`; ids without bytes (control tokens) never match."""
        self.piece = vocabulary.piece
        rows = [(piece, token) for token in range(vocabulary.size) if (piece := vocabulary.piece(token))]
        rows.sort()
        self._pieces = [piece for piece, _ in rows]
        self._ids = np.array([token for _, token in rows], dtype=np.int32)
        self.matching = lru_cache(maxsize=256)(self._matching)

    def _matching(self, wanted: bytes) -> Ids:
        """The sorted ids whose bytes begin with `wanted`, or are a proper prefix of it."""
        begin_with = self._range(wanted, _successor(wanted))
        shorter = [self._range(wanted[:length], wanted[:length] + b"\0") for length in range(1, len(wanted))]
        return np.unique(np.concatenate([begin_with, *shorter]))

    def _range(self, low: bytes, high: bytes | None) -> Ids:
        """The ids whose bytes are at least `low` and less than `high` (None: no upper bound)."""
        start = bisect_left(self._pieces, low)
        return self._ids[start : bisect_left(self._pieces, high) if high is not None else None]


class Healing:
    """The constraint itself; once the bytes are spelled out it allows everything."""

    def __init__(self, table: ByteTable, heal: bytes) -> None:
        self._table = table
        self._left = heal

    slow_masks = False

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        left = self._left
        for token in ahead:
            if not left:
                break
            left = left[len(self._table.piece(token)) :]
        return self._table.matching(left) if left else None

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        return self.trim((*ahead, token)) > len(ahead)

    def ends(self, ahead: Sequence[int]) -> bool:
        return self.allowed(ahead) is None

    def trim(self, ids: Sequence[int]) -> int:
        left = self._left
        for count, token in enumerate(ids):
            if not left:
                break
            piece = self._table.piece(token)
            if not piece or not (piece.startswith(left) or left.startswith(piece)):
                return count
            left = left[len(piece) :]
        return len(ids)

    def advance(self, ids: Sequence[int]) -> None:
        for token in ids:
            self._left = self._left[len(self._table.piece(token)) :]


def _successor(prefix: bytes) -> bytes | None:
    """The least byte string that is greater than every string with `prefix`; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None
