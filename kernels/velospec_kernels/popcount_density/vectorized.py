"""popcount_density on numpy: one population count over all words, the tail word corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from velospec_kernels._contract import Words
    from velospec_kernels.popcount_density import CpuDensity


def run(
    mask: Words,  # int32 or uint32 [rows, words]
    vocabulary: int,
    out: CpuDensity,
) -> None:
    """Write the counts and densities of `mask` to `out`."""
    words = mask.view(np.uint32)  # bitwise_count of a negative number counts the bits of its magnitude
    counts, density = out
    np.bitwise_count(words).sum(axis=1, dtype=np.int32, out=counts)
    if vocabulary % 32:
        counts -= np.bitwise_count(words[:, -1] >> np.uint32(vocabulary % 32))
    np.divide(counts, vocabulary, out=density, dtype=np.float32, casting="same_kind")
