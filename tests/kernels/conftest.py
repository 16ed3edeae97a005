"""What the tests of kernels that take llama.cpp's place have in common."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from velospec.backends.llama_cpp.native import llama_cpp  # with the kernels before it
from velospec_kernels import _host


@pytest.fixture(scope="session")
def ggml_cpu() -> ctypes.CDLL:
    """The library of llama.cpp that holds its functions for the processor."""
    return ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib" / "libggml-cpu.so"))


@pytest.fixture(scope="session")
def private(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], ctypes.CDLL]:
    """Loads a copy of a kernel's library: the one that llama.cpp runs with in this process stays as it is."""

    def load(source: Path, optimize: str = "-O3") -> ctypes.CDLL:
        copy = tmp_path_factory.mktemp("kernel") / f"{source.stem}.so"
        shutil.copyfile(_host.build(source, optimize), copy)
        return ctypes.CDLL(str(copy))

    return load
