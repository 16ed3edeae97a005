"""grammar_masked_argmax on a CUDA device: binds the compiled launcher and sizes its workspace."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from velospec_kernels import _build, _torch
from velospec_kernels.errors import ContractError

if TYPE_CHECKING:
    from velospec_kernels._contract import CudaTensor
    from velospec_kernels.grammar_masked_argmax import CudaArgmax

_OPERATION = "grammar_masked_argmax"
# As in the CUDA source: ids that a block looks at, of single precision, and the warps of a block.
_IDS_PER_BLOCK = 4096
_WARPS = 8
_WORD_BYTES = 16


def workspace_bytes(rows: int, vocabulary: int) -> int:
    """Bytes of workspace for `rows` rows: a word for each warp of each row."""
    blocks = -(-vocabulary // _IDS_PER_BLOCK)
    return rows * blocks * _WARPS * _WORD_BYTES


def workspace(rows: int, vocabulary: int, device: Any) -> CudaTensor:
    """A workspace on the torch `device` for calls of at most `rows` rows, zeroed as the kernel wants it.

    Every call leaves it ready for the next, of the same rows, vocabulary and dtype or of others. Calls that
    share it must follow each other on one stream.
    """
    torch = _torch.torch()
    space: CudaTensor = torch.zeros(workspace_bytes(rows, vocabulary), dtype=torch.uint8, device=device)
    return space


def empty(logits: CudaTensor, rows: int) -> tuple[Any, Any, Any, Any]:
    """New output tensors on the device of `logits`, in the order of MaskedArgmax."""
    torch = _torch.torch()
    ids, counts = torch.empty((2, rows), dtype=torch.int32, device=logits.device)
    top1, top2 = torch.empty((2, rows), dtype=torch.float32, device=logits.device)
    return ids, top1, top2, counts


def run(
    logits: CudaTensor,  # float32, float16 or bfloat16 [rows, vocabulary]
    mask: CudaTensor | None,  # int32 or uint32 [rows, words]
    out: CudaArgmax,
    space: CudaTensor | None,  # uint8 [workspace_bytes or more]
) -> None:
    """Launch on torch's current stream. Raises BuildError, ContractError, LaunchError."""
    rows, vocabulary = logits.shape
    if space is None:
        space = workspace(rows, vocabulary, logits.device)
    elif space.data_ptr() % _WORD_BYTES:
        raise ContractError(f"workspace must start at a multiple of {_WORD_BYTES} bytes.")
    library = _torch.load_for(_OPERATION, logits)
    status = library.velospec_grammar_masked_argmax(
        *_torch.place_of(logits),
        _torch.dtype_code(logits),
        _torch.pointer(logits),
        _torch.row_stride(logits),
        _torch.pointer(mask),
        _torch.row_stride(mask),
        ctypes.c_int(rows),
        ctypes.c_int(vocabulary),
        _torch.pointer(space),
        *(_torch.pointer(tensor) for tensor in out),
    )
    _build.check(library, status)
