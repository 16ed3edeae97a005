"""The masked argmax in Triton: the contract of `grammar_masked_argmax`, for machines without nvcc.

torch's own wheels bring Triton with them. On CUDA tensors it compiles on first use, into Triton's cache;
numpy arrays it takes in Triton's interpreter only (TRITON_INTERPRET=1): so it is tested without a GPU.
"""

from __future__ import annotations

import importlib
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from velospec_kernels import _torch
from velospec_kernels._contract import CudaTensor, Words
from velospec_kernels.errors import BuildError, ContractError
from velospec_kernels.grammar_masked_argmax import MaskedArgmax, check_arguments, empty

BLOCK = 4096  # ids that one program looks at
_PART = 4  # int32 that a program leaves: key of the best, its id, key of the second, count


def fused_logit_processor(
    logits: npt.NDArray[np.float32] | CudaTensor,
    mask: Words | CudaTensor | None = None,
    *,
    out: MaskedArgmax[Any, Any] | None = None,
    workspace: CudaTensor | None = None,
) -> MaskedArgmax[Any, Any]:
    """Choose the best allowed id of each row of `logits`, in one launch.

    Args:
        logits: As `grammar_masked_argmax` takes them.
        mask: As there.
        out: As there.
        workspace: CUDA only: what `workspace(rows, vocabulary, device)` of this module gave, for work on one
            stream at a time. None makes one for this call. With `out` and `workspace` given, and after a
            first call that compiled, the call may be captured in a graph.

    Returns:
        `out`, or the new arrays. Work on CUDA tensors is put on torch's current stream and not waited for.

    Raises:
        ContractError: An argument is not as said there; the message names it and both values.
        BuildError: Triton is not installed, or was asked to take numpy arrays outside its interpreter.
    """
    rows, vocabulary = check_arguments(logits, mask, out).shape
    kernel = _kernel(interpreted=isinstance(logits, np.ndarray))
    out = MaskedArgmax(*empty(logits, rows)) if out is None else out
    first, second, *answers = [None if array is None else _tensor(array) for array in (logits, mask, *out)]
    needed = workspace_words(rows, vocabulary)
    if workspace is None:
        workspace = _torch.torch().zeros(needed, dtype=_torch.torch().int32, device=_tensor(logits).device)
    elif workspace.shape[0] < needed:
        raise ContractError(f"workspace must have at least {needed} words, got {workspace.shape[0]}.")
    if rows:
        kernel.launch(first, second, answers, workspace, BLOCK)
    return out


def workspace_words(rows: int, vocabulary: int) -> int:
    """The int32 words of workspace for `rows` rows: a ticket each, and what each program found."""
    return rows * (1 + _PART * -(-vocabulary // BLOCK))


def workspace(rows: int, vocabulary: int, device: Any) -> CudaTensor:
    """A workspace on the torch `device` for calls of exactly this size; each leaves it ready for the next."""
    torch = _torch.torch()
    return cast(
        "CudaTensor", torch.zeros(workspace_words(rows, vocabulary), dtype=torch.int32, device=device)
    )


def _tensor(array: npt.NDArray[Any] | CudaTensor) -> Any:
    """`array` as torch takes it; numpy's without a copy."""
    if not isinstance(array, np.ndarray):
        return array
    signed = array.view(np.int32) if array.dtype == np.uint32 else array
    return _torch.torch().from_numpy(signed)


def _kernel(*, interpreted: bool) -> Any:
    """The module of the kernel. Raises BuildError."""
    try:
        kernel = importlib.import_module("velospec_kernels.fused_logit_processor.kernel")
    except ImportError as error:
        raise BuildError(
            f"Triton is not installed ({error}).", "Install it: pip install 'velospec[torch]'"
        ) from error
    if interpreted and not kernel.INTERPRETED:
        raise BuildError(
            "Triton takes numpy arrays in its interpreter only.",
            "Set TRITON_INTERPRET=1 before it is loaded, or use grammar_masked_argmax.",
        )
    return kernel
