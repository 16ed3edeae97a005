"""The little that the CUDA bindings ask of torch. Loaded late: a caller with CUDA tensors has it anyway."""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

from velospec_kernels import _build

if TYPE_CHECKING:
    from velospec_kernels._contract import CudaTensor

DTYPE_CODES = {"float32": 0, "float16": 1, "bfloat16": 2}
"""The dtypes of logits, as launchers number them."""


def torch() -> Any:
    """The torch module; no static import, so that the package type-checks and loads without it."""
    return importlib.import_module("torch")


def load_for(operation: str, tensor: CudaTensor) -> ctypes.CDLL:
    """The library of `operation` compiled for the device of `tensor`. Raises BuildError."""
    major, minor = torch().cuda.get_device_capability(tensor.device)
    return _build.load(operation, f"sm_{major}{minor}")


def place_of(tensor: CudaTensor) -> tuple[ctypes.c_int, ctypes.c_void_p]:
    """The device of `tensor` and torch's current stream there, as launchers take them."""
    stream = torch().cuda.current_stream(tensor.device)
    return ctypes.c_int(tensor.device.index), ctypes.c_void_p(stream.cuda_stream)


def dtype_code(tensor: CudaTensor) -> ctypes.c_int:
    """The dtype of `tensor`, one of those of logits, as launchers take it."""
    return ctypes.c_int(DTYPE_CODES[str(tensor.dtype).removeprefix("torch.")])


def pointer(tensor: CudaTensor | None) -> ctypes.c_void_p:
    """The address of the first element of `tensor`; null for None."""
    return ctypes.c_void_p(tensor.data_ptr() if tensor is not None else None)


def row_stride(tensor: CudaTensor | None) -> ctypes.c_int64:
    """Elements from one row of `tensor` to the next; 0 for None."""
    return ctypes.c_int64(tensor.stride()[0] if tensor is not None else 0)
