"""Products of Q8_0 weights with the few columns of a speculative batch, in the place of llama.cpp's own.

    kernel = q8_matmul.preload()  # before llama.cpp is loaded: the linker takes the definition it finds first
    import llama_cpp
    kernel.bind(ggml_cpu)  # its own definition, for all that this one declines

For Linux on x86-64. A batch of k rows reads the weights once, and its results have the bits of k single rows:
each element is summed in the order of llama.cpp's dot product for one row, which goes on serving single rows.
`bind` holds this against that dot product before anything is switched on. Where the kernel cannot be had,
llama.cpp works as it always does.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from velospec_kernels import _host
from velospec_kernels.errors import BuildError

SWITCH = "VELOSPEC_Q8_MATMUL"
"""Set to "off", this environment variable leaves llama.cpp alone."""

SOURCE = Path(__file__).with_name("q8_matmul.c")
LEVELS = ("off", "avx2", "avx-vnni", "avx512-vnni")

_TESTED = frozenset({"0.3.36"})
"""Versions of llama-cpp-python whose `llamafile_sgemm` is known to take these arguments."""

_BLOCK = np.dtype([("scale", "<f2"), ("quants", "i1", 32)])
_F32, _Q8_0 = 0, 8  # types as ggml numbers them
_logger = logging.getLogger(__name__)

Blocks = npt.NDArray[np.void]
Floats = npt.NDArray[np.float32]


class _Params(ctypes.Structure):
    """The whole of ggml_compute_params, of which the kernel reads the first two."""

    _fields_ = (
        ("thread", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("reference", ctypes.c_bool),
    )


class Kernel:
    """The compiled kernel, loaded for the whole process. It does nothing until it is bound."""

    def __init__(self, library: Path) -> None:
        """Load `library` before llama.cpp. Raises OSError."""
        self._library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._library.velospec_q8_calls.restype = ctypes.c_long
        self._library.llamafile_sgemm.restype = ctypes.c_bool
        self.best = LEVELS[self._library.velospec_q8_best_level()]
        self.level = "off"

    def bind(self, ggml_cpu: ctypes.CDLL, level: str | None = None) -> bool:
        """Take over from the loaded library of llama.cpp, at the processor's best level or a lower one.

        Returns whether the kernel is on: it stays off where its bits are not those of llama.cpp.
        """
        ggml_cpu.ggml_cpu_init()  # fills the tables that the dot product looks up
        self._library.velospec_q8_set_original(ctypes.cast(ggml_cpu.llamafile_sgemm, ctypes.c_void_p))
        self._switch(level or self.best)
        if self.level != "off" and not self._agrees(ggml_cpu):
            _logger.warning("The Q8_0 kernel (%s) disagrees with llama.cpp and stays off.", self.level)
            self._switch("off")
        return self.level != "off"

    @property
    def calls(self) -> int:
        """Products computed since the start; stays 0 where the linker did not take this definition."""
        return int(self._library.velospec_q8_calls())

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Leave llama.cpp as it is for a while, for comparisons with it."""
        level = self.level
        self._switch("off")
        try:
            yield
        finally:
            self._switch(level)

    def multiply(
        self, weights: Blocks, columns: Blocks, *, threads: int = 1
    ) -> npt.NDArray[np.float32] | None:
        """What llama.cpp's threads would get, one after another; None if the kernel and the original decline.

        `weights` is [m, blocks], `columns` is [n, blocks], both of `quantized`'s type; the result is [n, m].
        """
        out = np.zeros((len(columns), len(weights)), dtype=np.float32)
        size = [ctypes.c_int64(number) for number in (len(weights), len(columns), weights.shape[1])]
        stride = ctypes.c_int64(weights.shape[1])
        done = [
            self._library.llamafile_sgemm(
                ctypes.byref(_Params(thread, threads)),
                *size,
                *(ctypes.c_void_p(weights.ctypes.data), stride),
                *(ctypes.c_void_p(columns.ctypes.data), stride),
                *(ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(len(weights))),
                *(_Q8_0, _Q8_0, _F32),
            )
            for thread in range(threads)
        ]
        return out if all(done) else None

    def _switch(self, level: str) -> None:
        self._library.velospec_q8_set_level(LEVELS.index(level))
        self.level = level

    def _agrees(self, ggml_cpu: ctypes.CDLL) -> bool:
        """Compare, bit for bit, with the dot product of llama.cpp: all tile shapes, some milliseconds."""
        random = np.random.default_rng(1)
        weights, columns = random_blocks(random, 11, 3), random_blocks(random, 7, 3)
        expected = dot_products(ggml_cpu, weights, columns)
        for count in range(2, len(columns) + 1):
            made = self.multiply(weights, columns[:count], threads=2)
            if made is None or made.tobytes() != expected[:count].tobytes():
                return False
        return True


def dot_products(ggml_cpu: ctypes.CDLL, weights: Blocks, columns: Blocks) -> Floats:
    """The product [n, m] as llama.cpp makes it for single rows: `ggml_vec_dot_q8_0_q8_0` for each element."""
    out = np.zeros((len(columns), len(weights)), dtype=np.float32)
    length, none = ctypes.c_int(32 * weights.shape[1]), ctypes.c_size_t(0)
    for j, column in enumerate(columns):
        for i, row in enumerate(weights):
            ggml_cpu.ggml_vec_dot_q8_0_q8_0(
                *(length, ctypes.c_void_p(out[j, i:].ctypes.data), none),
                *(ctypes.c_void_p(row.ctypes.data), none, ctypes.c_void_p(column.ctypes.data), none, 1),
            )
    return out


def random_blocks(random: np.random.Generator, rows: int, blocks: int) -> Blocks:
    """Q8_0 blocks with scales of both signs and quants from -127 to 127, as the quantizer makes them."""
    made = np.zeros((rows, blocks), dtype=_BLOCK)
    made["scale"] = random.normal(size=(rows, blocks))
    made["quants"] = random.integers(-127, 128, size=(rows, blocks, 32))
    return made


def preload() -> Kernel | None:
    """The kernel, compiled if it must be (once, seconds); None where it cannot be had, which is logged."""
    reason = _unfit()
    if reason:
        _logger.info("llama.cpp multiplies by itself: %s", reason)
        return None
    try:
        return Kernel(_host.build(SOURCE))
    except (BuildError, OSError) as error:
        _logger.warning("llama.cpp multiplies by itself, slower than it could: %s", error)
        return None


def _unfit() -> str:
    """Why the kernel is not tried here; empty if it is."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false"):
        return f"{SWITCH} is off"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return f"there is no kernel for {sys.platform} on {platform.machine()}"
    try:
        version = metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        return "llama-cpp-python is not installed"
    return (
        "" if version in _TESTED else f"version {version} of llama-cpp-python was not tested with the kernel"
    )
