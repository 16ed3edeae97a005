"""grammar_masked_argmax by plain loops: the meaning that the fast forms are tested against."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from velospec_kernels._contract import Words
    from velospec_kernels.grammar_masked_argmax import CpuArgmax


def run(
    logits: npt.NDArray[np.float32],  # [rows, vocabulary]
    mask: Words | None,  # int32 or uint32 [rows, words]
    out: CpuArgmax,
) -> None:
    """Write the choice, the two best values and the allowed count of each row to `out`."""
    for row in range(logits.shape[0]):
        best, top1, top2, count = -1, -math.inf, -math.inf, 0
        for token in range(logits.shape[1]):
            if mask is not None and not int(mask[row, token // 32]) >> token % 32 & 1:
                continue
            count += 1
            value = float(logits[row, token])
            if math.isnan(value):
                continue
            if best < 0 or value > top1:
                best, top1, top2 = token, value, top1
            else:
                top2 = max(top2, value)
        out.ids[row], out.top1[row], out.top2[row], out.counts[row] = best, top1, top2, count
