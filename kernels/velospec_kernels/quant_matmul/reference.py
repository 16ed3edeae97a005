"""What the kernel computes, in plain words of numpy: the values that blocks stand for, and their products.

After ggml's `dequantize_row_*` (ggml-quants.c of llama.cpp). In double precision, so that the rounding of a
kernel shows; it knows nothing of the order in which llama.cpp adds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from velospec_kernels.quant_matmul.formats import Blocks

Doubles = npt.NDArray[np.float64]
_Bytes = npt.NDArray[np.uint8]


def multiply(name: str, weights: Blocks, columns: Blocks) -> Doubles:
    """The product [n, m] of `weights` [m, blocks] of the format `name` and `columns` [n, blocks]."""
    return values("Q8", columns) @ values(name, weights).T


def values(name: str, blocks: Blocks) -> Doubles:
    """The numbers [rows, length of a row] that blocks stand for; any "Q8…" is a scale times quants."""
    made: Doubles
    scale = blocks["scale"].astype(float)[..., None]
    if name.startswith("Q8"):
        made = scale * blocks["quants"]
    elif name == "Q6_K":
        made = scale * np.repeat(blocks["small"].astype(float), 16, axis=-1) * _q6_k_quants(blocks)
    elif name.endswith("_K"):
        scales, lows = _small_numbers(blocks["small"])
        low = blocks["low"].astype(float)[..., None]
        made = scale * scales * _k_quants(name, blocks) - low * lows
    elif name.endswith("_1"):
        made = scale * _quants(name, blocks) + blocks["low"].astype(float)[..., None]
    else:
        made = scale * (_quants(name, blocks) - (16.0 if name == "Q5_0" else 8.0))
    return made.reshape(len(blocks), -1)


def _quants(name: str, blocks: Blocks) -> Doubles:
    """Blocks of 32: the low halves of all bytes, then the high ones; Q5 has a fifth bit for each."""
    made = np.concatenate([blocks["quants"] & 15, blocks["quants"] >> 4], axis=-1).astype(float)
    if name.startswith("Q5"):
        made += 16.0 * (blocks["high"][..., None] >> np.arange(32, dtype=np.uint32) & 1)
    return made


def _k_quants(name: str, blocks: Blocks) -> Doubles:
    """Q4_K and Q5_K: of each 32 bytes the low halves, then the high ones; bit s of `high` is for run s."""
    pairs = blocks["quants"].reshape(*blocks.shape, 4, 32)
    made = np.stack([pairs & 15, pairs >> 4], axis=-2).reshape(*blocks.shape, 8, 32).astype(float)
    if name == "Q5_K":
        made += 16.0 * (blocks["high"][..., None, :] >> np.arange(8, dtype=np.uint8)[:, None] & 1)
    return made.reshape(*blocks.shape, 256)


def _q6_k_quants(blocks: Blocks) -> Doubles:
    """Two times 128, each four runs of 32: low halves of two runs of bytes, high ones, two more bits."""
    low = blocks["quants"].reshape(*blocks.shape, 2, 2, 32)
    four = np.concatenate([low & 15, low >> 4], axis=-2)
    two = blocks["high"].reshape(*blocks.shape, 2, 1, 32) >> np.array([[0], [2], [4], [6]], np.uint8) & 3
    made: Doubles = four.astype(float) + 16.0 * two - 32.0
    return made.reshape(*blocks.shape, 256)


def _small_numbers(packed: _Bytes) -> tuple[Doubles, Doubles]:
    """The eight scales and eight lows of six bits in twelve bytes, each 32 times."""
    first, second, third = packed[..., :4], packed[..., 4:8], packed[..., 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=-1)
    lows = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=-1)
    return np.repeat(scales, 32, axis=-1).astype(float), np.repeat(lows, 32, axis=-1).astype(float)
