"""How many ids a packed mask allows, and what share of the vocabulary that is, for each row."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from velospec_kernels._contract import (
    Backend,
    CudaTensor,
    Words,
    check_mask,
    check_output,
    check_rank,
    check_vocabulary,
    choose,
    view,
)
from velospec_kernels.popcount_density import cuda, reference, vectorized

Counts = TypeVar("Counts")
Densities = TypeVar("Densities")


class Density(NamedTuple, Generic[Counts, Densities]):
    """The answer, one value for each row."""

    counts: Counts  # int32 [rows]: allowed ids
    density: Densities  # float32 [rows]: counts / vocabulary, within 0 and 1


CpuDensity = Density[npt.NDArray[np.int32], npt.NDArray[np.float32]]
CudaDensity = Density[Any, Any]


@overload
def popcount_density(
    mask: Words, vocabulary: int, *, out: CpuDensity | None = ..., backend: Backend = ...
) -> CpuDensity: ...
@overload
def popcount_density(
    mask: CudaTensor, vocabulary: int, *, out: CudaDensity | None = ..., backend: Backend = ...
) -> CudaDensity: ...
def popcount_density(
    mask: Words | CudaTensor,
    vocabulary: int,
    *,
    out: Density[Any, Any] | None = None,
    backend: Backend = "auto",
) -> Density[Any, Any]:
    """Count the allowed ids of each row of `mask`.

    Args:
        mask: int32 or uint32 [rows, ceil(vocabulary / 32)], 32 ids a word, lowest bit first; bits past the
            vocabulary are ignored. Stride 1 along a row; rows may be any distance apart.
        vocabulary: How many ids there are, 1 or more.
        out: Where to write: `counts` int32 [rows] and `density` float32 [rows], on the device of `mask`.
            None allocates. With `out` given, the CUDA form allocates nothing and may be captured in a graph.
        backend: `reference` (plain loops) or `numpy` for arrays on the CPU, `cuda` for CUDA tensors, `auto`
            for the fast one of the two.

    Returns:
        `out`, or the new arrays. Work on CUDA tensors is put on torch's current stream and not waited for.

    Raises:
        ContractError: An argument is not as said here; the message names it and both values.
        BuildError: The CUDA source cannot be compiled on this machine.
    """
    masks = view("mask", mask)
    check_rank(masks, 2)
    check_vocabulary(vocabulary)
    check_mask(masks, masks.shape[0], vocabulary)
    chosen = choose(backend, masks)
    if out is not None:
        check_output("out.counts", out.counts, "int32", masks)
        check_output("out.density", out.density, "float32", masks)
    out = Density(*_empty(mask, masks.shape[0])) if out is None else out
    if chosen == "cuda":
        cuda.run(cast("CudaTensor", mask), vocabulary, out)
    else:
        (reference if chosen == "reference" else vectorized).run(mask, vocabulary, out)
    return out


def _empty(mask: Words | CudaTensor, rows: int) -> tuple[Any, Any]:
    if not isinstance(mask, np.ndarray):
        return cuda.empty(mask, rows)
    return np.empty(rows, np.int32), np.empty(rows, np.float32)
