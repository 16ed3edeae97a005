"""fused_sample by plain loops: the meaning that the fast forms are tested against."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from velospec_kernels._contract import Words
    from velospec_kernels.fused_sample import CpuSample

_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio, the odd step of SplitMix64
_LEAST = float(np.finfo(np.float32).tiny)  # smaller weights count as none: devices differ in them


def run(
    logits: npt.NDArray[np.float32],  # [rows, vocabulary]
    mask: Words | None,  # int32 or uint32 [rows, words]
    settings: npt.NDArray[np.float32],  # [rows, 4]
    keys: npt.NDArray[np.int64],  # [rows, 2]
    out: CpuSample,
) -> None:
    """Write the drawn id of each row, its probability, and how many ids could have been drawn to `out`."""
    for row in range(logits.shape[0]):
        allowed = [
            token
            for token in range(logits.shape[1])
            if mask is None or int(mask[row, token // 32]) >> token % 32 & 1
        ]
        weights = weigh(logits[row], allowed, float(settings[row, 0]))
        if settings[row, 0] > 0:
            weights = narrow(weights, *(float(limit) for limit in settings[row, 1:]))
        total = math.fsum(weights.values())
        target = uniform(*(int(part) for part in keys[row])) * total if settings[row, 0] > 0 else 0.0
        out.ids[row], out.probabilities[row], out.kept[row] = -1, 0, len(weights)
        for token in sorted(weights):  # the first at which the running sum exceeds the target
            out.ids[row], out.probabilities[row] = token, weights[token] / total
            target -= weights[token]
            if target < 0:
                break


def weigh(logits: npt.NDArray[np.float32], allowed: list[int], temperature: float) -> dict[int, float]:
    """exp((logit - best) / temperature) of the `allowed` ids, in single precision, but those below tiny."""
    values = {token: float(logits[token]) for token in allowed if not math.isnan(logits[token])}
    best = max(values.values(), default=math.nan)
    weights = {}
    for token, value in values.items():
        if value == best:
            weights[token] = 1.0
        elif temperature > 0:
            weights[token] = float(np.float32(math.exp((value - best) / temperature)))
    return {token: weight for token, weight in weights.items() if weight >= _LEAST}


def narrow(weights: dict[int, float], top_k: float, top_p: float, min_p: float) -> dict[int, float]:
    """What top-k, top-p and min-p leave of `weights`, in this order."""
    order = sorted(weights, key=lambda token: (-weights[token], token))
    if top_k >= 1:
        order = order[: int(min(top_k, len(order)))]
    if top_p < 1:
        goal = top_p * math.fsum(weights[token] for token in order)
        mass, taken = 0.0, 0
        while taken < len(order) and (taken == 0 or mass < goal):
            mass += weights[order[taken]]
            taken += 1
        order = order[:taken]
    if min_p > 0:
        order = [token for token in order if weights[token] >= min(min_p, 1.0)]
    return {token: weights[token] for token in order}


def uniform(seed: int, position: int) -> float:
    """A number from 0 up to but not 1: SplitMix64 (Steele, Lea and Flood 2014) as a counter."""
    return (_mix(_mix(seed & _WORD) + position * _GOLDEN) >> 11) * 2.0**-53


def _mix(word: int) -> int:
    word = (word + _GOLDEN) & _WORD
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _WORD
    return word ^ word >> 31
