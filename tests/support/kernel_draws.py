"""What the tests of `fused_sample` share: settings, keys, and how surprising a number of draws is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from velospec_kernels.fused_sample import reference

# temperature, top_k, top_p, min_p
SETTINGS = [
    (1.0, 0, 1.0, 0.0),
    (0.7, 5, 1.0, 0.0),
    (1.0, 0, 0.9, 0.0),
    (1.3, 0, 1.0, 0.05),
    (1.0, 12, 0.8, 0.1),
    (2.0, 1000, 0.5, 0.0),
    (0.0, 3, 0.5, 0.1),
]


def settings_of(rows: int, *settings: tuple[float, ...]) -> npt.NDArray[np.float32]:
    """float32 [rows, 4]: `settings` in turns."""
    return np.array([settings[row % len(settings)] for row in range(rows)], np.float32).reshape(rows, 4)


def keys_of(rows: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """int64 [rows, 2]: `seed`, and positions from 0."""
    return np.stack([np.full(rows, seed), np.arange(rows)], axis=1).astype(np.int64)


def draws(ids: npt.NDArray[np.int32], vocabulary: int) -> npt.NDArray[np.intp]:
    """How often each id was drawn."""
    return np.bincount(ids, minlength=vocabulary)


def surprise(
    counts: npt.NDArray[np.intp], logits: npt.NDArray[np.float32], settings: tuple[float, ...]
) -> float:
    """By how many standard deviations chi-square of `counts` exceeds its mean; infinite if one may not be."""
    weights = reference.weigh(logits, list(range(logits.size)), settings[0])
    weights = reference.narrow(weights, *settings[1:]) if settings[0] > 0 else {min(weights): 1.0}
    total = math.fsum(weights.values())
    expected = {token: counts.sum() * weight / total for token, weight in weights.items()}
    if counts.sum() != sum(int(counts[token]) for token in expected):
        return math.inf
    freedom = len(expected) - 1
    if not freedom:
        return 0.0
    chi_square = sum((int(counts[token]) - share) ** 2 / share for token, share in expected.items())
    return (chi_square - freedom) / math.sqrt(2 * freedom)


def fits(got: Any, logits: npt.NDArray[np.float32], allowed: list[int], settings: Any, key: Any) -> bool:
    """Whether a row's answer, (id, probability, kept), is the reference's but for rounding at borders."""
    weights = reference.weigh(logits, allowed, float(settings[0]))
    order = reference.narrow(weights, *map(float, settings[1:])) if settings[0] > 0 else weights
    token, probability, kept = got
    if not order:
        return (token, probability, kept) == (-1, 0, 0)
    rounding = (
        1e-5 * len(weights) * (settings[2] < 1)
    )  # top-p's border may fall one of many near equals further
    if abs(kept - len(order)) > rounding or token not in weights:
        return False
    total = math.fsum(order.values())
    target = reference.uniform(*map(int, key)) * total if settings[0] > 0 else 0.0
    before = math.fsum(weight for other, weight in order.items() if other < token)
    slack = 2e-5 * total
    near = before - slack <= target <= before + weights[token] + slack
    return near and math.isclose(probability, weights[token] / total, rel_tol=1e-4)
