"""Sampling by the book: float64, whole sorts, loops; and the chi-square test that draws are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from velospec.core.request import Sampling

Probabilities = npt.NDArray[np.float64]  # shape [vocabulary]


def penalized(logits: Sequence[float], sampling: Sampling, before: Sequence[int]) -> list[float]:
    """`logits` after the repetition penalty for what stands `before`, prompt and output."""
    values = [float(value) for value in logits]
    if sampling.penalty_window:
        for token in set(before[-sampling.penalty_window :]):
            penalty = sampling.repetition_penalty
            values[token] = values[token] / penalty if values[token] > 0 else values[token] * penalty
    return values


def probabilities(
    logits: Sequence[float],
    sampling: Sampling,
    before: Sequence[int] = (),
    allowed: Sequence[int] | None = None,
) -> Probabilities:
    """The distribution of the next id; `allowed` are those that may be chosen, None for all."""
    values = penalized(logits, sampling, before)
    choosable = range(len(values)) if allowed is None else allowed
    ranked = sorted(choosable, key=lambda token: (-values[token], token))
    if sampling.temperature == 0:
        ranked = ranked[:1]
    scale = sampling.temperature or 1
    if sampling.top_k:
        ranked = ranked[: sampling.top_k]
    weights = {token: math.exp((values[token] - values[ranked[0]]) / scale) for token in ranked}
    kept, mass, goal = [], 0.0, sampling.top_p * sum(weights.values())
    for token in ranked:
        if mass >= goal:
            break
        kept.append(token)
        mass += weights[token]
    kept = [token for token in kept if weights[token] >= sampling.min_p]
    result = np.zeros(len(values))
    result[kept] = [weights[token] for token in kept]
    return result / result.sum()


def chi_square(drawn: Mapping[int, int], expected: Probabilities) -> tuple[float, int]:
    """The chi-square statistic of `drawn` counts by id against `expected`, and its degrees of freedom.

    Ids expected fewer than 5 times are counted together. Infinite if an impossible id was drawn.
    """
    total = sum(drawn.values())
    if any(expected[token] == 0 for token in drawn):
        return math.inf, 1
    often = [token for token in range(len(expected)) if total * expected[token] >= 5]
    cells = [(drawn.get(token, 0), total * expected[token]) for token in often]
    rare = total - sum(seen for seen, _ in cells), total - sum(wanted for _, wanted in cells)
    if rare[1] >= 5:
        cells.append(rare)
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1


def is_plausible(statistic: float, freedom: int) -> bool:
    """Whether one in a thousand right samplers would have a larger statistic (Wilson and Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    return ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread) < 3.09
