"""popcount_density on a CUDA device: binds the compiled launcher, which counts a row per block."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from velospec_kernels import _build, _torch

if TYPE_CHECKING:
    from velospec_kernels._contract import CudaTensor
    from velospec_kernels.popcount_density import CudaDensity

_OPERATION = "popcount_density"


def empty(mask: CudaTensor, rows: int) -> tuple[Any, Any]:
    """New output tensors on the device of `mask`."""
    torch = _torch.torch()
    return (
        torch.empty(rows, dtype=torch.int32, device=mask.device),
        torch.empty(rows, dtype=torch.float32, device=mask.device),
    )


def run(
    mask: CudaTensor,  # int32 or uint32 [rows, words]
    vocabulary: int,
    out: CudaDensity,
) -> None:
    """Launch on torch's current stream. Raises BuildError, LaunchError."""
    library = _torch.load_for(_OPERATION, mask)
    status = library.velospec_popcount_density(
        *_torch.place_of(mask),
        _torch.pointer(mask),
        _torch.row_stride(mask),
        ctypes.c_int(mask.shape[0]),
        ctypes.c_int(vocabulary),
        _torch.pointer(out.counts),
        _torch.pointer(out.density),
    )
    _build.check(library, status)
