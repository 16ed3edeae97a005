"""Loads llama.cpp, with our kernels before its own functions where they can be had.

Whoever needs the package `llama_cpp` takes it from here: loaded earlier, it would not find the kernels.
"""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from typing import Any

from velospec_kernels import flash_attention, quant_matmul
from velospec_kernels._interposed import Kernel, ggml_cpu, suspended
from velospec_kernels.quant_matmul.formats import FORMATS

_products = quant_matmul.preload()
_loaded: tuple[Kernel | None, ...] = (_products, flash_attention.preload())
kernels: list[Kernel] = [kernel for kernel in _loaded if kernel is not None]

import llama_cpp  # noqa: E402 - after the kernels, whose definitions the linker must find first

__all__ = ["VERSION", "kernel_names", "kernels", "lib", "llama_cpp", "served_types", "stock"]


for _kernel in kernels:
    _kernel.bind(ctypes.CDLL(str(ggml_cpu())))

VERSION: str = llama_cpp.__version__

lib: Any = llama_cpp.llama_cpp
"""The C functions. Untyped: the binding's own annotations name arrays where C takes pointers."""


def kernel_names() -> str:
    """Which kernels run, with their instruction sets; "none" where llama.cpp works alone."""
    return ", ".join(str(kernel) for kernel in kernels if kernel.level != "off") or "none"


def served_types() -> frozenset[int]:
    """The types of weights that our kernel multiplies at this moment, as ggml numbers them."""
    if _products is None or _products.level == "off":
        return frozenset()
    return frozenset(FORMATS[name].number for name in _products.formats)


def stock() -> AbstractContextManager[None]:
    """llama.cpp without our kernels for a while, as others use it: for comparisons."""
    return suspended(kernels)
