"""Attention as a tensor of the loaded ggml: inputs in, the structure that llama.cpp would hand over out.

Made to hold the kernel against: it shows whether ggml's structures are what the kernel takes them for.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from velospec_kernels.flash_attention.reference import Array, Case

F32, F16, BF16 = 0, 1, 30  # types as ggml numbers them
_SIZE = 64 << 20


class _InitParams(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class Graph:
    """One attention in a ggml context of its own; `close` frees it."""

    def __init__(self, ggml_cpu: ctypes.CDLL, case: Case, kv_type: int) -> None:
        """`ggml_cpu` is the loaded library, which brings ggml's base along."""
        self._ggml = ggml_cpu
        for name in (
            "ggml_init",
            "ggml_new_tensor_4d",
            "ggml_flash_attn_ext",
            "ggml_get_data",
            "ggml_new_graph",
        ):
            getattr(ggml_cpu, name).restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(ggml_cpu.ggml_init(_InitParams(_SIZE, None, False)))  # noqa: FBT003 - C
        inputs = (
            self._tensor(F32, case.queries),
            self._tensor(kv_type, case.keys),
            self._tensor(kv_type, case.values),
            self._tensor(F16, case.mask),
        )
        numbers = (ctypes.c_float(case.scale), ctypes.c_float(0), ctypes.c_float(0))
        self.result = ctypes.c_void_p(ggml_cpu.ggml_flash_attn_ext(self._context, *inputs, *numbers))
        self._shape = (case.queries.shape[1], len(case.queries), case.values.shape[2])

    def compute(self, threads: int) -> npt.NDArray[np.float32]:
        """What llama.cpp makes of it: [rows, heads, value_width]."""
        graph = ctypes.c_void_p(self._ggml.ggml_new_graph(self._context))
        self._ggml.ggml_build_forward_expand(graph, self.result)
        self._ggml.ggml_graph_compute_with_ctx(self._context, graph, threads)
        return self.output()

    def output(self) -> npt.NDArray[np.float32]:
        """A copy of what stands in the result."""
        return self._view(self.result, self._shape, np.float32).copy()

    def close(self) -> None:
        self._ggml.ggml_free(self._context)

    def _tensor(self, kind: int, numbers: Array) -> ctypes.c_void_p:
        shape = (1,) * (4 - numbers.ndim) + numbers.shape
        size = [ctypes.c_int64(length) for length in reversed(shape)]
        tensor = ctypes.c_void_p(self._ggml.ggml_new_tensor_4d(self._context, kind, *size))
        if kind == BF16:
            halves: Any = (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        else:
            halves = numbers.astype({F32: np.float32, F16: np.float16}[kind])
        self._view(tensor, numbers.shape, halves.dtype)[:] = halves
        return tensor

    def _view(self, tensor: ctypes.c_void_p, shape: tuple[int, ...], kind: Any) -> npt.NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        memory = (ctypes.c_char * size).from_address(self._ggml.ggml_get_data(tensor))
        return np.frombuffer(memory, dtype=kind).reshape(shape)
