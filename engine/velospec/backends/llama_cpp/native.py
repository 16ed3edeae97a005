"""Loads llama.cpp, with our matrix kernel before its own where it can be had.

Whoever needs the package `llama_cpp` takes it from here: loaded earlier, it would not find the kernel.
"""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from velospec_kernels import q8_matmul

kernel = q8_matmul.preload()

import llama_cpp  # noqa: E402 - after the kernel, whose definition the linker must find first

__all__ = ["VERSION", "kernel", "kernel_name", "lib", "llama_cpp", "stock"]


def _bind() -> None:
    folder = Path(llama_cpp.__file__).parent / "lib"
    library = next(iter(sorted(folder.glob("libggml-cpu.so*"))), None)
    if kernel is not None and library is not None:
        kernel.bind(ctypes.CDLL(str(library)))


_bind()

VERSION: str = llama_cpp.__version__

lib: Any = llama_cpp.llama_cpp
"""The C functions. Untyped: the binding's own annotations name arrays where C takes pointers."""


def kernel_name() -> str:
    """What multiplies batches of Q8_0 models: "q8_matmul" with its instruction set, or "llama.cpp"."""
    return "llama.cpp" if kernel is None or kernel.level == "off" else f"q8_matmul {kernel.level}"


def stock() -> AbstractContextManager[None]:
    """llama.cpp without our kernel for a while, as others use it: for comparisons."""
    return nullcontext() if kernel is None else kernel.suspended()
