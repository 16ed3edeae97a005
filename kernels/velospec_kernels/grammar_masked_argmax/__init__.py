"""The greedy choice of each row under its grammar mask, with its margin and the mask's allowed count."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from velospec_kernels._contract import (
    Backend,
    CudaTensor,
    View,
    Words,
    check_dense_rows,
    check_device,
    check_dtype,
    check_logits,
    check_mask,
    check_output,
    check_rank,
    choose,
    view,
)
from velospec_kernels.errors import ContractError
from velospec_kernels.grammar_masked_argmax import cuda, reference, vectorized

Ints = TypeVar("Ints")
Floats = TypeVar("Floats")


class MaskedArgmax(NamedTuple, Generic[Ints, Floats]):
    """The answer, one value for each row."""

    ids: Ints  # int32 [rows]: the best allowed id, the lowest of equals; -1 if there is none
    top1: Floats  # float32 [rows]: its logit; -inf if there is none
    top2: Floats  # float32 [rows]: the best logit among the other allowed ids; -inf if there is none
    counts: Ints  # int32 [rows]: ids that the mask allows

    @property
    def margin(self) -> Floats:
        """`top1 - top2`, float32 [rows]: 0 for equals, infinite ones too, and for a row without a choice.

        inf for a row with one candidate, whose choice nothing can turn.
        """
        top1: Any = self.top1
        top2: Any = self.top2
        equal = top1 == top2
        if isinstance(top1, np.ndarray):  # inf - inf warns, so equals are left out of the subtraction
            margin: Any = np.subtract(top1, top2, out=np.zeros_like(top1), where=~equal)
        else:
            margin = (top1 - top2).masked_fill(equal, 0)
        floats: Floats = margin
        return floats


CpuArgmax = MaskedArgmax[npt.NDArray[np.int32], npt.NDArray[np.float32]]
CudaArgmax = MaskedArgmax[Any, Any]


@overload
def grammar_masked_argmax(
    logits: npt.NDArray[np.float32],
    mask: Words | None = ...,
    *,
    out: CpuArgmax | None = ...,
    workspace: None = ...,
    backend: Backend = ...,
) -> CpuArgmax: ...
@overload
def grammar_masked_argmax(
    logits: CudaTensor,
    mask: CudaTensor | None = ...,
    *,
    out: CudaArgmax | None = ...,
    workspace: CudaTensor | None = ...,
    backend: Backend = ...,
) -> CudaArgmax: ...
def grammar_masked_argmax(
    logits: npt.NDArray[np.float32] | CudaTensor,
    mask: Words | CudaTensor | None = None,
    *,
    out: MaskedArgmax[Any, Any] | None = None,
    workspace: CudaTensor | None = None,
    backend: Backend = "auto",
) -> MaskedArgmax[Any, Any]:
    """Choose the best allowed id of each row of `logits`.

    NaN never wins and is never second; an id whose logit is NaN still counts as allowed. -inf is a value as
    any other: it wins where nothing greater is allowed. -0.0 equals 0.0.

    Args:
        logits: [rows, vocabulary], float32 on the CPU; float32, float16 or bfloat16 on a CUDA device.
            Stride 1 along a row; rows may be any distance apart. Never written to. On
            CUDA, rows that start at a multiple of 16 bytes are read fastest.
        mask: int32 or uint32 [rows, ceil(vocabulary / 32)], 32 ids a word, lowest bit first; bits past the
            vocabulary are ignored. Stride 1 along a row. None allows every id.
        out: Where to write: `ids` and `counts` int32 [rows], `top1` and `top2` float32 [rows], on the device
            of `logits`. None allocates.
        workspace: CUDA only: what `cuda.workspace(rows, vocabulary, device)` gave, for work on one stream at
            a time. None makes one for this call. With `out` and `workspace` given, the call is one launch
            (for every 132 rows, on an H200), allocates nothing, and may be captured in a graph.
        backend: `reference` (plain loops) or `numpy` for arrays on the CPU, `cuda` for CUDA tensors, `auto`
            for the fast one of the two.

    Returns:
        `out`, or the new arrays. Work on CUDA tensors is put on torch's current stream and not waited for.

    Raises:
        ContractError: An argument is not as said here; the message names it and both values.
        BuildError: The CUDA source cannot be compiled on this machine.
    """
    scores = check_arguments(logits, mask, out)
    chosen = choose(backend, scores)
    if workspace is not None:
        _check_workspace(chosen, workspace, scores)
    out = MaskedArgmax(*empty(logits, scores.shape[0])) if out is None else out
    if chosen == "cuda":
        cuda.run(cast("CudaTensor", logits), cast("CudaTensor | None", mask), out, workspace)
    else:
        (reference if chosen == "reference" else vectorized).run(logits, mask, out)
    return out


def check_arguments(
    logits: npt.NDArray[np.float32] | CudaTensor,
    mask: Words | CudaTensor | None,
    out: MaskedArgmax[Any, Any] | None,
) -> View:
    """Hold the arguments to the contract, and return how the logits lie. Raises ContractError."""
    scores = view("logits", logits)
    check_rank(scores, 2)
    check_logits(scores)
    if mask is not None:
        masks = view("mask", mask)
        check_mask(masks, *scores.shape)
        check_device(masks, scores)
    if out is not None:
        for name, array, dtype in zip(
            out._fields, out, ("int32", "float32", "float32", "int32"), strict=True
        ):
            check_output(f"out.{name}", array, dtype, scores)
    return scores


def _check_workspace(chosen: Backend, workspace: CudaTensor, scores: View) -> None:
    if chosen != "cuda":
        raise ContractError(f"workspace must be None for backend {chosen!r}, got one.")
    space = view("workspace", workspace)
    check_rank(space, 1)
    check_dtype(space, ("uint8",))
    check_dense_rows(space)
    check_device(space, scores)
    needed = cuda.workspace_bytes(*scores.shape)
    if space.shape[0] < needed:
        raise ContractError(f"workspace must have at least {needed} bytes, got {space.shape[0]}.")


def empty(logits: npt.NDArray[np.float32] | CudaTensor, rows: int) -> tuple[Any, Any, Any, Any]:
    """New arrays or tensors for the answer, where `logits` lie."""
    if not isinstance(logits, np.ndarray):
        return cuda.empty(logits, rows)
    ids, counts = np.empty((2, rows), np.int32)
    top1, top2 = np.empty((2, rows), np.float32)
    return ids, top1, top2, counts
