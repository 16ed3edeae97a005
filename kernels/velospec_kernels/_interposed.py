"""Kernels in the place of llama.cpp's own: C libraries that define one of its functions, loaded before it.

The linker takes the definition that it finds first; what a kernel does not do itself, it hands on to the
original. For Linux on x86-64, and for versions of llama-cpp-python whose functions and structures are known
to be these. Where a kernel cannot be had, llama.cpp works as it always does, and the log says why.
"""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Protocol

from velospec_kernels import _host
from velospec_kernels.errors import BuildError

SWITCH = "VELOSPEC_CPU_KERNELS"
"""Set to "off", this environment variable leaves llama.cpp alone."""

TESTED = frozenset({"0.3.36"})
"""Versions of llama-cpp-python that the kernels fit."""

_logger = logging.getLogger(__name__)


class Kernel(Protocol):
    """A loaded kernel, for the whole process. It does nothing until it is bound."""

    level: str
    """What it runs on, "off" where it does not run."""

    def __str__(self) -> str:
        """What runs, and how: its name, its level, and what else decides numbers or speed."""
        ...

    @property
    def calls(self) -> int:
        """How often it ran; stays 0 where the linker did not take this definition."""
        ...

    def bind(self, ggml_cpu: ctypes.CDLL) -> bool:
        """Take over from the loaded library; False, and off, where the results are not what they must be."""
        ...

    def switch(self, level: str) -> None:
        """Run at `level`, or not at all."""
        ...


class Params(ctypes.Structure):
    """The whole of ggml_compute_params, of which the kernels read the first two."""

    _fields_ = (
        ("thread", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("reference", ctypes.c_bool),
    )


def load(source: Path, optimize: str = "-O3") -> ctypes.CDLL | None:
    """The library of `source`, compiled if it must be (once, seconds); None where it cannot be had.

    To be called before llama.cpp is loaded.
    """
    reason = unfit()
    if reason:
        _logger.info("llama.cpp works without %s: %s", source.stem, reason)
        return None
    try:
        return ctypes.CDLL(str(_host.build(source, optimize)), mode=ctypes.RTLD_GLOBAL)
    except (BuildError, OSError) as error:
        _logger.warning("llama.cpp works without %s, slower than it could: %s", source.stem, error)
        return None


def unfit() -> str:
    """Why no kernel is tried here; empty if they are."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false"):
        return f"{SWITCH} is off"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return f"there is none for {sys.platform} on {platform.machine()}"
    try:
        version = metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        return "llama-cpp-python is not installed"
    if ggml_cpu() is None:
        return "llama-cpp-python brings no libggml-cpu.so, or LLAMA_CPP_LIB_PATH names another"
    return "" if version in TESTED else f"it was not tested with version {version} of llama-cpp-python"


def ggml_cpu() -> Path | None:
    """llama.cpp's library of functions for the processor, whose place kernels take; None if there is none."""
    found = importlib.util.find_spec("llama_cpp")
    if found is None or found.origin is None or "LLAMA_CPP_LIB_PATH" in os.environ:
        return None
    return next(iter(sorted((Path(found.origin).parent / "lib").glob("libggml-cpu.so"))), None)


@contextmanager
def suspended(kernels: list[Kernel]) -> Iterator[None]:
    """Leave llama.cpp as it is for a while, for comparisons with it."""
    levels = [kernel.level for kernel in kernels]
    for kernel in kernels:
        kernel.switch("off")
    try:
        yield
    finally:
        for kernel, level in zip(kernels, levels, strict=True):
            kernel.switch(level)
