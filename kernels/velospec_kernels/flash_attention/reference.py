"""What attention means: numpy in double precision, one query after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Case:
    """The inputs of one attention; `heads / key_heads` query heads in a row share a key head."""

    queries: Array  # [heads, rows, width]
    keys: Array  # [key_heads, positions, width], numbers that half precision can hold
    values: Array  # [key_heads, positions, value_width]
    mask: Array  # [rows, positions], 0 where a row may look and -inf where not
    scale: float


def attention(case: Case) -> npt.NDArray[np.float64]:
    """Softmax of scaled, masked scores times the values: [rows, heads, value_width]; 0 for a blind row."""
    shared = len(case.queries) // len(case.keys)
    out = np.zeros((case.queries.shape[1], len(case.queries), case.values.shape[2]))
    for head, queries in enumerate(case.queries.astype(np.float64)):
        scores = queries @ case.keys[head // shared].T.astype(np.float64) * case.scale + case.mask
        for row, score in enumerate(scores):
            if np.isfinite(score).any():
                weights = np.exp(score - score.max())
                out[row, head] = weights / weights.sum() @ case.values[head // shared]
    return out
