"""Attention of a speculative batch over a KV cache of half precision, in the place of llama.cpp's own.

    kernel = flash_attention.preload()  # before llama.cpp is loaded
    import llama_cpp
    kernel.bind(ggml_cpu)

Keys and values are converted once for all rows of the batch and for all heads that share them, and what a row
gets does not depend on the other rows. Queries stay in single precision, where llama.cpp rounds them to the
cache's. `bind` holds the kernel against `reference`, on a tensor that the loaded ggml made, before anything
is switched on.
"""

from __future__ import annotations

import ctypes
import logging
from pathlib import Path

import numpy as np
import numpy.typing as npt

from velospec_kernels import _interposed
from velospec_kernels._interposed import Params
from velospec_kernels.flash_attention.ggml import BF16, F16, Graph
from velospec_kernels.flash_attention.reference import Case, attention

SOURCE = Path(__file__).with_name("flash_attention.c")

_logger = logging.getLogger(__name__)


class FlashAttention:
    """The kernel, see `_interposed.Kernel`. Its only level is "avx2"."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """`library` is the compiled SOURCE, loaded before llama.cpp."""
        self._library = library
        self._library.velospec_attention_calls.restype = ctypes.c_long
        self._library.velospec_attention_switch.restype = ctypes.c_bool
        self.level = "off"

    def __str__(self) -> str:
        return f"FlashAttention {self.level}"

    def bind(self, ggml_cpu: ctypes.CDLL) -> bool:
        """Take over from the loaded library of llama.cpp.

        Returns whether the kernel is on: it stays off on old processors and where its results are not right.
        """
        ggml_cpu.ggml_cpu_init()
        original = ctypes.cast(ggml_cpu.ggml_compute_forward_flash_attn_ext, ctypes.c_void_p)
        self._library.velospec_attention_set_original(original)
        self.switch("avx2")
        if self.level != "off" and not self._is_right(ggml_cpu):
            _logger.warning("The attention kernel does not fit this llama.cpp and stays off.")
            self.switch("off")
        return self.level != "off"

    @property
    def calls(self) -> int:
        """Attentions computed since the start, one for each layer and batch."""
        return int(self._library.velospec_attention_calls())

    def switch(self, level: str) -> None:
        """Run, at the level "avx2", or not, "off"."""
        on = self._library.velospec_attention_switch(ctypes.c_bool(level != "off"))
        self.level = "avx2" if on else "off"

    def attend(self, graph: Graph, *, threads: int = 1) -> npt.NDArray[np.float32]:
        """What llama.cpp's threads would make of it, one after another: [rows, heads, value_width]."""
        for thread in range(threads):
            params = ctypes.byref(Params(thread, threads))
            self._library.ggml_compute_forward_flash_attn_ext(params, graph.result)
        return graph.output()

    def _is_right(self, ggml_cpu: ctypes.CDLL) -> bool:
        """Compare with the reference; some milliseconds."""
        case = random_case(np.random.default_rng(1), rows=3, heads=6, key_heads=2, positions=70, width=64)
        for kind in (F16, BF16):
            graph = Graph(ggml_cpu, case, kind)
            made = self.attend(graph, threads=2)
            graph.close()
            if not np.allclose(made, attention(case), rtol=1e-4, atol=1e-5):
                return False
        return True


def random_case(
    random: np.random.Generator, *, rows: int, heads: int, key_heads: int, positions: int, width: int
) -> Case:
    """Rows that see all positions but their successors' and a few more; numbers that every type can hold."""
    mask = np.zeros((rows, positions))
    for row in range(rows):
        mask[row, positions - rows + row + 1 :] = -np.inf
        mask[row, random.integers(0, positions, size=positions // 8)] = -np.inf
    return Case(
        random.normal(size=(heads, rows, width)).astype(np.float32),
        _short(random.normal(size=(key_heads, positions, width))),
        _short(random.normal(size=(key_heads, positions, width))),
        mask,
        float(np.float32(width**-0.5)),
    )


def _short(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Cut to the seven bits of fraction that a BF16 number has."""
    bits = numbers.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def preload() -> FlashAttention | None:
    """The kernel; None where it cannot be had. To be called before llama.cpp is loaded."""
    library = _interposed.load(SOURCE)
    return None if library is None else FlashAttention(library)
