"""Which chain a place hangs in: by a hash of the ids before it, for each of a few context lengths.

A hash is the sum of the ids, each times a power by how far back it stands, mixed, of which the upper bits
count. Whole blocks are hashed at once; a look-up hashes one context.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LENGTHS = (1, 2, 4, 7, 12)
"""The context lengths that have chains, in ids."""

_BASE = 0x9E3779B97F4A7C15
_MIX = 0xD6E8FEB86659FD93
_MASK = (1 << 64) - 1
_POWERS = [pow(_BASE, exponent + 1, 1 << 64) for exponent in range(LENGTHS[-1])]


def block_chains(block: npt.NDArray[np.int64], shift: int) -> list[tuple[int, list[int]]]:
    """For each level, the chains of the block's places that have so many ids before them, in their order.

    `shift` bits of a hash of 64 do not count.
    """
    size = len(block)
    words = block.astype(np.uint64)
    sums = np.zeros(size, np.uint64)
    result = []
    for length in range(1, min(LENGTHS[-1], size - 1) + 1):
        # The first place is that behind `length` ids; each one's sum is over the ids before it.
        sums = sums[1:] + words[: size - length] * np.uint64(_POWERS[length - 1])
        if length in LENGTHS:
            chains = (sums * np.uint64(_MIX)) >> np.uint64(shift)
            result.append((LENGTHS.index(length), chains.tolist()))
    return result


def context_chains(turned: Sequence[int], shift: int) -> list[int]:
    """The chains of a context, its last id first, for each of LENGTHS that it is long enough for."""
    chains, total = [], 0
    for length, (token, power) in enumerate(zip(turned, _POWERS, strict=False), 1):
        total += token * power
        if length in LENGTHS:
            chains.append((total * _MIX & _MASK) >> shift)
    return chains
