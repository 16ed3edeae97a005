"""Packed masks on the CPU: 32 ids a word, the layout that xgrammar and llguidance write.

Bit `id % 32` of word `id // 32` is set if `id` is allowed. Bits past the vocabulary have no meaning: every
operation ignores them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from velospec_kernels._contract import Words, check_vocabulary, words_for

__all__ = ["Words", "bytes_of", "pack", "words_for"]


def pack(ids: Sequence[int] | npt.NDArray[np.integer], vocabulary: int) -> npt.NDArray[np.int32]:
    """The mask row, int32 [words], that allows exactly `ids`. Raises IndexError for an id out of range."""
    check_vocabulary(vocabulary)
    chosen = np.asarray(ids, dtype=np.int64)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < vocabulary:
        raise IndexError(f"ids must be within 0 and {vocabulary - 1}, got {chosen.min()} to {chosen.max()}.")
    bits = np.zeros(words_for(vocabulary) * 32, dtype=np.bool_)
    bits[chosen] = True
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False)


def bytes_of(words: Words) -> npt.NDArray[np.uint8]:
    """The mask `words` [n] as bytes [4 n], ids in ascending order; no copy where `words` is dense."""
    return np.ascontiguousarray(words).view(np.uint32).astype("<u4", copy=False).view(np.uint8)
