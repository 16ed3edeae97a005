"""fused_sample on a CUDA device: binds the compiled launcher. A cluster of blocks has one row."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from velospec_kernels import _build, _torch
from velospec_kernels.errors import ContractError

if TYPE_CHECKING:
    from velospec_kernels._contract import CudaTensor
    from velospec_kernels.fused_sample import CudaSample

_OPERATION = "fused_sample"
MOST_ROWS = 65_535  # of a grid of CUDA


def empty(logits: CudaTensor, rows: int) -> tuple[Any, Any, Any]:
    """New output tensors on the device of `logits`, in the order of Sample."""
    torch = _torch.torch()
    ids, kept = torch.empty((2, rows), dtype=torch.int32, device=logits.device)
    return ids, torch.empty(rows, dtype=torch.float32, device=logits.device), kept


def run(
    logits: CudaTensor,  # float32, float16 or bfloat16 [rows, vocabulary]
    mask: CudaTensor | None,  # int32 or uint32 [rows, words]
    settings: CudaTensor,  # float32 [rows, 4]
    keys: CudaTensor,  # int64 [rows, 2]
    out: CudaSample,
) -> None:
    """Launch on torch's current stream. Raises BuildError, ContractError, LaunchError."""
    rows, vocabulary = logits.shape
    if rows > MOST_ROWS:
        raise ContractError(f"logits must have at most {MOST_ROWS} rows on CUDA, got {rows}.")
    library = _torch.load_for(_OPERATION, logits)
    status = library.velospec_fused_sample(
        *_torch.place_of(logits),
        _torch.dtype_code(logits),
        _torch.pointer(logits),
        _torch.row_stride(logits),
        _torch.pointer(mask),
        _torch.row_stride(mask),
        ctypes.c_int(rows),
        ctypes.c_int(vocabulary),
        _torch.pointer(settings),
        _torch.pointer(keys),
        *(_torch.pointer(tensor) for tensor in out),
    )
    _build.check(library, status)
