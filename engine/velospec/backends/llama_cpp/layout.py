"""Whether a model's weights should stay as the file has them, because our kernels multiply them so.

llama.cpp lays weights of some formats out anew when it loads them, for kernels of its own that are quicker
for one row than its product by the file's layout. Ours need the file's, and are quicker than both. Reads the
head of a file by llama.cpp's own functions; knows nothing of numerics.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from velospec.backends.llama_cpp.native import lib, served_types

_FLOATS = frozenset({0, 1, 30})  # F32, F16 and BF16, as ggml numbers types; never laid out anew


class _Params(ctypes.Structure):
    """gguf_init_params: read the head alone."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


def keeps_file_layout(path: Path) -> bool:
    """Whether our kernels multiply every quantized matrix of the file.

    Those of experts are chosen by row and multiplied by llama.cpp alone.
    """
    served = served_types()
    return bool(served) and all(
        kind in _FLOATS or (kind in served and matrices == 1) for kind, matrices in _tensors(path)
    )


def _tensors(path: Path) -> list[tuple[int, int]]:
    """Type and number of matrices of each tensor; one that no kernel serves where the head cannot be read."""
    functions: Any = lib._lib  # noqa: SLF001  (the binding declares no function of ggml)
    functions.gguf_init_from_file.restype = ctypes.c_void_p
    functions.gguf_init_from_file.argtypes = (ctypes.c_char_p, _Params)
    functions.gguf_get_n_tensors.restype = ctypes.c_int64
    functions.gguf_get_tensor_ne.restype = ctypes.POINTER(ctypes.c_int64)
    head = ctypes.c_void_p(functions.gguf_init_from_file(os.fsencode(path), _Params(no_alloc=True)))
    if not head:
        return [(-1, 1)]
    try:
        numbers = [ctypes.c_int64(number) for number in range(functions.gguf_get_n_tensors(head))]
        return [
            (functions.gguf_get_tensor_type(head, number), functions.gguf_get_tensor_ne(head, number)[2])
            for number in numbers
        ]
    finally:
        functions.gguf_free(head)
