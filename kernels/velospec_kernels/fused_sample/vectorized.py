"""fused_sample on numpy, a row at a time: one sort of the allowed weights where top-k or top-p ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from velospec_kernels import bitmask
from velospec_kernels.fused_sample.reference import uniform

if TYPE_CHECKING:
    from velospec_kernels._contract import Words
    from velospec_kernels.fused_sample import CpuSample

_LEAST = np.finfo(np.float32).tiny

Weights = npt.NDArray[np.float32]
Ids = npt.NDArray[np.intp]


def run(
    logits: npt.NDArray[np.float32],  # [rows, vocabulary]
    mask: Words | None,  # int32 or uint32 [rows, words]
    settings: npt.NDArray[np.float32],  # [rows, 4]
    keys: npt.NDArray[np.int64],  # [rows, 2]
    out: CpuSample,
) -> None:
    """Write the drawn id of each row, its probability, and how many ids could have been drawn to `out`."""
    for row, values in enumerate(logits):
        temperature, *limits = (float(value) for value in settings[row])
        ids, weights = _weigh(values, _allowed(values, None if mask is None else mask[row]), temperature)
        if not ids.size:
            out.ids[row], out.probabilities[row], out.kept[row] = -1, 0, 0
            continue
        target = 0.0
        mass = np.cumsum(weights, dtype=np.float64)
        if temperature > 0:
            ids, weights = _narrow(ids, weights, *limits)
            mass = np.cumsum(weights, dtype=np.float64)
            target = uniform(int(keys[row, 0]), int(keys[row, 1])) * mass[-1]
        place = min(int(np.searchsorted(mass, target, side="right")), ids.size - 1)
        out.ids[row], out.probabilities[row], out.kept[row] = ids[place], weights[place] / mass[-1], ids.size


def _allowed(values: npt.NDArray[np.float32], words: Words | None) -> Ids:
    """The allowed ids whose logit is a number, ascending."""
    good = ~np.isnan(values)
    if words is not None:
        used = bitmask.bytes_of(words)[: (values.size + 7) // 8]
        good &= np.unpackbits(used, count=values.size, bitorder="little").view(np.bool_)
    return np.flatnonzero(good)


def _weigh(values: npt.NDArray[np.float32], ids: Ids, temperature: float) -> tuple[Ids, Weights]:
    """The `ids` whose weight is not none, and these weights."""
    chosen = values[ids]
    best = chosen.max(initial=-np.inf)
    if temperature > 0:
        shifted = np.zeros(chosen.size)
        np.subtract(chosen, best, out=shifted, where=chosen != best)  # inf - inf is none of these
        weights = np.exp(shifted / temperature).astype(np.float32)
    else:
        weights = (chosen == best).astype(np.float32)
    some = weights >= _LEAST
    return ids[some], weights[some]


def _narrow(ids: Ids, weights: Weights, top_k: float, top_p: float, min_p: float) -> tuple[Ids, Weights]:
    if 1 <= top_k < ids.size or top_p < 1:
        order = np.argsort(-weights, kind="stable")  # ids ascend, so the lowest of equals come first
        if 1 <= top_k < ids.size:
            order = order[: int(top_k)]
        if top_p < 1:
            mass = np.cumsum(weights[order], dtype=np.float64)
            order = order[: int(np.searchsorted(mass, top_p * mass[-1])) + 1]
        order.sort()
        ids, weights = ids[order], weights[order]
    if min_p > 0:
        some = weights >= np.float32(min(min_p, 1.0))
        ids, weights = ids[some], weights[some]
    return ids, weights
