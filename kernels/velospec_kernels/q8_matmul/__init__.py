"""Products of Q8_0 weights with the few columns of a speculative batch, in the place of llama.cpp's own.

    kernel = q8_matmul.preload()  # before llama.cpp is loaded: the linker takes the definition it finds first
    import llama_cpp
    kernel.bind(ggml_cpu)  # its own definition, for all that this one declines

A batch of k rows reads the weights once, and its results have the bits of k single rows: each element is
summed in the order of llama.cpp's dot product for one row, which goes on serving single rows. `bind` holds
the kernel against that dot product before anything is switched on.
"""

from __future__ import annotations

import ctypes
import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt

from velospec_kernels import _interposed
from velospec_kernels._interposed import Params

SOURCE = Path(__file__).with_name("q8_matmul.c")
LEVELS = ("off", "avx2", "avx-vnni", "avx512-vnni")

_BLOCK = np.dtype([("scale", "<f2"), ("quants", "i1", 32)])
_F32, _Q8_0 = 0, 8  # types as ggml numbers them
_logger = logging.getLogger(__name__)

Blocks = npt.NDArray[np.void]
Floats = npt.NDArray[np.float32]


class Q8Matmul:
    """The kernel, see `_interposed.Kernel`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """`library` is the compiled SOURCE, loaded before llama.cpp."""
        self._library = library
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
        self.switch(level or self.best)
        if self.level != "off" and not self._agrees(ggml_cpu):
            _logger.warning("The Q8_0 kernel (%s) disagrees with llama.cpp and stays off.", self.level)
            self.switch("off")
        return self.level != "off"

    @property
    def calls(self) -> int:
        """Products computed since the start."""
        return int(self._library.velospec_q8_calls())

    def switch(self, level: str) -> None:
        """Run at `level`, one of LEVELS that the processor has."""
        self._library.velospec_q8_set_level(LEVELS.index(level))
        self.level = level

    def multiply(self, weights: Blocks, columns: Blocks, *, threads: int = 1) -> Floats | None:
        """What llama.cpp's threads would get, one after another; None if the kernel and the original decline.

        `weights` is [m, blocks], `columns` is [n, blocks], of `random_blocks`' type; the result is [n, m].
        """
        out = np.zeros((len(columns), len(weights)), dtype=np.float32)
        size = [ctypes.c_int64(number) for number in (len(weights), len(columns), weights.shape[1])]
        stride = ctypes.c_int64(weights.shape[1])
        done = [
            self._library.llamafile_sgemm(
                ctypes.byref(Params(thread, threads)),
                *size,
                *(ctypes.c_void_p(weights.ctypes.data), stride),
                *(ctypes.c_void_p(columns.ctypes.data), stride),
                *(ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(len(weights))),
                *(_Q8_0, _Q8_0, _F32),
            )
            for thread in range(threads)
        ]
        return out if all(done) else None

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


def preload() -> Q8Matmul | None:
    """The kernel; None where it cannot be had. To be called before llama.cpp is loaded."""
    library = _interposed.load(SOURCE)
    return None if library is None else Q8Matmul(library)
