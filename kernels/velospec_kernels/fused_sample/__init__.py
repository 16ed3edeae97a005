"""One token drawn from each row of logits: mask, temperature, filters and the draw in one launch."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from velospec_kernels._contract import (
    Backend,
    CudaTensor,
    Words,
    check_dense,
    check_device,
    check_dtype,
    check_logits,
    check_mask,
    check_output,
    check_rank,
    check_shape,
    choose,
    view,
)
from velospec_kernels.fused_sample import cuda, reference, vectorized

Ints = TypeVar("Ints")
Floats = TypeVar("Floats")
_DTYPES = {"ids": "int32", "probabilities": "float32", "kept": "int32"}


class Sample(NamedTuple, Generic[Ints, Floats]):
    """The answer, one value for each row."""

    ids: Ints  # int32 [rows]: the drawn id; -1 if no id is allowed, or none has a logit
    probabilities: Floats  # float32 [rows]: that of the drawn id among those that could be drawn; 0 if none
    kept: Ints  # int32 [rows]: how many ids could be drawn


CpuSample = Sample[npt.NDArray[np.int32], npt.NDArray[np.float32]]
CudaSample = Sample[Any, Any]


@overload
def fused_sample(
    logits: npt.NDArray[np.float32],
    mask: Words | None = ...,
    *,
    settings: npt.NDArray[np.float32],
    keys: npt.NDArray[np.int64],
    out: CpuSample | None = ...,
    backend: Backend = ...,
) -> CpuSample: ...
@overload
def fused_sample(
    logits: CudaTensor,
    mask: CudaTensor | None = ...,
    *,
    settings: CudaTensor,
    keys: CudaTensor,
    out: CudaSample | None = ...,
    backend: Backend = ...,
) -> CudaSample: ...
def fused_sample(
    logits: npt.NDArray[np.float32] | CudaTensor,
    mask: Words | CudaTensor | None = None,
    *,
    settings: npt.NDArray[np.float32] | CudaTensor,
    keys: npt.NDArray[np.int64] | CudaTensor,
    out: Sample[Any, Any] | None = None,
    backend: Backend = "auto",
) -> Sample[Any, Any]:
    """Draw an id from each row of `logits`.

    The weight of an allowed id is exp((logit - best) / temperature) in single precision, `best` being the
    largest allowed logit of the row; weights below 2**-126 are none, and NaN has none. Of these top-k, top-p
    and min-p, in this order, keep the largest, of equal ones those with the lowest ids; each filter takes its
    shares of what the ones before it left. The drawn id is the first, in the order of the ids, up to which
    the kept weights sum to more than u times their sum, where u, from 0 up to but not 1, depends on the
    row's seed and position alone (SplitMix64 as a counter): rows can be drawn again, in any order and on any
    device, but for rounding at the borders.

    Args:
        logits: [rows, vocabulary], float32 on the CPU; float32, float16 or bfloat16 on a CUDA device, at most
            65,535 rows there. Stride 1 along a row; rows may be any distance apart. Never written to.
        mask: int32 or uint32 [rows, ceil(vocabulary / 32)], 32 ids a word, lowest bit first; bits past the
            vocabulary are ignored. Stride 1 along a row. None allows every id.
        settings: float32 [rows, 4], dense, where `logits` lie: temperature, top_k, top_p and min_p of each
            row. Off are: temperature 0 or less (the lowest id of the largest logit is taken), top_k below 1,
            top_p from 1 on, min_p of 0 or less.
        keys: int64 [rows, 2], dense, where `logits` lie: seed and position of each row.
        out: Where to write, on the device of `logits`. None allocates. With `out` given, the CUDA form
            allocates nothing and may be captured in a graph; settings and keys are read when it is replayed.
        backend: `reference` (plain loops) or `numpy` for arrays on the CPU, `cuda` for CUDA tensors, `auto`
            for the fast one of the two.

    Returns:
        `out`, or the new arrays. Work on CUDA tensors is put on torch's current stream and not waited for.

    Raises:
        ContractError: An argument is not as said here; the message names it and both values.
        BuildError: The CUDA source cannot be compiled on this machine.
    """
    scores = view("logits", logits)
    check_rank(scores, 2)
    chosen = choose(backend, scores)
    check_logits(scores)
    if mask is not None:
        masks = view("mask", mask)
        check_mask(masks, *scores.shape)
        check_device(masks, scores)
    for name, array, dtype, columns in (("settings", settings, "float32", 4), ("keys", keys, "int64", 2)):
        argument = view(name, array)
        check_shape(argument, (scores.shape[0], columns), f"{columns} values for each row of logits")
        check_dtype(argument, (dtype,))
        check_dense(argument)
        check_device(argument, scores)
    if out is not None:
        for name, array in out._asdict().items():
            check_output(f"out.{name}", array, _DTYPES[name], scores)
    out = Sample(*_empty(logits, scores.shape[0])) if out is None else out
    if chosen == "cuda":
        tensors: tuple[Any, Any, Any, Any] = (logits, mask, settings, keys)
        cuda.run(*tensors, out=out)
    else:
        (reference if chosen == "reference" else vectorized).run(logits, mask, settings, keys, out)
    return out


def _empty(logits: npt.NDArray[np.float32] | CudaTensor, rows: int) -> tuple[Any, Any, Any]:
    if not isinstance(logits, np.ndarray):
        return cuda.empty(logits, rows)
    ids, kept = np.empty((2, rows), np.int32)
    return ids, np.empty(rows, np.float32), kept
