"""What the tests of kernels that take llama.cpp's place have in common."""

from __future__ import annotations

import ctypes
from pathlib import Path

import llama_cpp
import pytest


@pytest.fixture(scope="session")
def ggml_cpu() -> ctypes.CDLL:
    """The library of llama.cpp that holds its functions for the processor."""
    return ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib" / "libggml-cpu.so"))
