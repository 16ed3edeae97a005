"""popcount_density by plain loops: the meaning that the fast forms are tested against."""

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
    for row in range(mask.shape[0]):
        count = 0
        for token in range(vocabulary):
            count += int(mask[row, token // 32]) >> token % 32 & 1
        out.counts[row] = count
        out.density[row] = np.float32(count) / np.float32(vocabulary)
