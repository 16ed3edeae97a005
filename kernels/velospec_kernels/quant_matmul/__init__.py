"""Products of quantized weights with the few columns of a speculative batch, in the place of llama.cpp's own.

    kernel = quant_matmul.preload()  # before llama.cpp is loaded: the linker takes what it finds first
    import llama_cpp
    kernel.bind(ggml_cpu)  # its own definition, for all that this one declines

A batch of k rows reads the weights once, and its results have the bits of llama.cpp's single rows: each
element is summed in the order of its dot product for one row. `bind` holds the kernel against that dot
product, format by format, before anything is switched on.
"""

from __future__ import annotations

import ctypes
import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt

from velospec_kernels import _interposed
from velospec_kernels._interposed import Params
from velospec_kernels.quant_matmul.formats import FORMATS, WEIGHTS, Blocks, random_blocks

SOURCE = Path(__file__).with_name("quant_matmul.c")
OPTIMIZE = "-O2"  # compiles sooner than -O3, to code that is as fast or faster
LEVELS = ("off", "avx2", "avx-vnni", "avx512-vnni")

SINGLE_ROWS = WEIGHTS
"""The formats whose products with a single row are made here too, with the bits of llama.cpp's but in less
time; those of others stay llama.cpp's own."""

_F32 = 0  # as ggml numbers types
_logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]


class QuantMatmul:
    """The kernel, see `_interposed.Kernel`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """`library` is the compiled SOURCE, loaded before llama.cpp."""
        self._library = library
        self._library.velospec_quant_calls.restype = ctypes.c_long
        self._library.llamafile_sgemm.restype = ctypes.c_bool
        self.best = LEVELS[self._library.velospec_quant_best_level()]
        self.level = "off"
        self.formats: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"QuantMatmul {self.level} ({' '.join(self.formats)})"

    def bind(self, ggml_cpu: ctypes.CDLL, level: str | None = None) -> bool:
        """Take over from the loaded library of llama.cpp, at the processor's best level or a lower one.

        Returns whether the kernel is on: it leaves alone the formats whose bits are not those of llama.cpp.
        """
        ggml_cpu.ggml_cpu_init()  # fills the tables that the dot product looks up
        self._library.velospec_quant_set_original(ctypes.cast(ggml_cpu.llamafile_sgemm, ctypes.c_void_p))
        self.formats = WEIGHTS
        self.switch(level or self.best)
        if self.level != "off":
            self.formats = tuple(name for name in WEIGHTS if self._agrees(ggml_cpu, name))
            self.switch(self.level if self.formats else "off")
        return self.level != "off"

    @property
    def calls(self) -> int:
        """Products computed since the start."""
        return int(self._library.velospec_quant_calls())

    def switch(self, level: str) -> None:
        """Run at `level`, one of LEVELS that the processor has."""
        types = sum(1 << FORMATS[name].number for name in self.formats)
        alone = sum(1 << FORMATS[name].number for name in self.formats if name in SINGLE_ROWS)
        self._library.velospec_quant_set(LEVELS.index(level), ctypes.c_uint(types), ctypes.c_uint(alone))
        self.level = level

    def multiply(self, name: str, weights: Blocks, columns: Blocks, *, threads: int = 1) -> Floats | None:
        """What llama.cpp's threads would get, one after another; None if the kernel and the original decline.

        `weights` is [m, blocks] in the format `name`, `columns` is [n, blocks] in the one it is multiplied
        with; the result is [n, m].
        """
        out = np.zeros((len(columns), len(weights)), dtype=np.float32)
        size = [ctypes.c_int64(number) for number in (len(weights), len(columns), weights.shape[1])]
        stride = ctypes.c_int64(weights.shape[1])
        form = FORMATS[name]
        done = [
            self._library.llamafile_sgemm(
                ctypes.byref(Params(thread, threads)),
                *size,
                *(ctypes.c_void_p(weights.ctypes.data), stride),
                *(ctypes.c_void_p(columns.ctypes.data), stride),
                *(ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(len(weights))),
                *(form.number, FORMATS[form.columns].number, _F32),
            )
            for thread in range(threads)
        ]
        return out if all(done) else None

    def _agrees(self, ggml_cpu: ctypes.CDLL, name: str) -> bool:
        """Compare, bit for bit, with the dot product of llama.cpp: all tile shapes, a millisecond."""
        random = np.random.default_rng(1)
        weights = random_blocks(random, name, 11, 3)
        columns = random_blocks(random, FORMATS[name].columns, 7, 3)
        expected = dot_products(ggml_cpu, name, weights, columns)
        for count in range(1 if name in SINGLE_ROWS else 2, len(columns) + 1):
            made = self.multiply(name, weights, columns[:count], threads=2)
            if made is None or made.tobytes() != expected[:count].tobytes():
                _logger.warning(
                    "The kernel for %s (%s) disagrees with llama.cpp and stays off.", name, self.level
                )
                return False
        return True


def dot_products(ggml_cpu: ctypes.CDLL, name: str, weights: Blocks, columns: Blocks) -> Floats:
    """The product [n, m] as llama.cpp makes it for single rows: its dot product for each element."""
    out = np.zeros((len(columns), len(weights)), dtype=np.float32)
    dot = getattr(ggml_cpu, FORMATS[name].dot)
    length, none = ctypes.c_int(FORMATS[name].length * weights.shape[1]), ctypes.c_size_t(0)
    for j, column in enumerate(columns):
        for i, row in enumerate(weights):
            dot(
                *(length, ctypes.c_void_p(out[j, i:].ctypes.data), none),
                *(ctypes.c_void_p(row.ctypes.data), none, ctypes.c_void_p(column.ctypes.data), none, 1),
            )
    return out


def preload() -> QuantMatmul | None:
    """The kernel; None where it cannot be had. To be called before llama.cpp is loaded."""
    library = _interposed.load(SOURCE, OPTIMIZE)
    return None if library is None else QuantMatmul(library)
