"""The quantized formats of ggml that the kernel multiplies: their blocks as numpy types, and random ones.

`WEIGHTS` names those of weights, `Format.columns` the one that llama.cpp multiplies each with. It knows where
the numbers lie in a block; what they mean is in `reference`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Blocks = npt.NDArray[np.void]
"""Rows of blocks, [rows, blocks], of a format's type."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: `number` as ggml counts its types, `length` the values of a block."""

    name: str
    number: int
    length: int
    block: np.dtype[np.void]
    columns: str = ""

    @property
    def dot(self) -> str:
        """The function of llama.cpp that multiplies two rows."""
        return f"ggml_vec_dot_{_lowered(self.name)}_{_lowered(self.columns)}"


def _lowered(name: str) -> str:
    return name[0].lower() + name[1:]


def _format(name: str, number: int, length: int, fields: str, columns: str = "") -> Format:
    """`fields` are those of a block in their order: name:type or name:type:count."""
    parts = [field.split(":") for field in fields.split()]
    block = np.dtype([(part[0], part[1], int(part[2]) if part[2:] else ()) for part in parts])
    return Format(name, number, length, block, columns)


_ALL = (
    _format("Q4_0", 2, 32, "scale:<f2 quants:u1:16", "Q8_0"),
    _format("Q4_1", 3, 32, "scale:<f2 low:<f2 quants:u1:16", "Q8_1"),
    _format("Q5_0", 6, 32, "scale:<f2 high:<u4 quants:u1:16", "Q8_0"),
    _format("Q5_1", 7, 32, "scale:<f2 low:<f2 high:<u4 quants:u1:16", "Q8_1"),
    _format("Q8_0", 8, 32, "scale:<f2 quants:i1:32", "Q8_0"),
    _format("Q8_1", 9, 32, "scale:<f2 sum:<f2 quants:i1:32"),
    _format("Q4_K", 12, 256, "scale:<f2 low:<f2 small:u1:12 quants:u1:128", "Q8_K"),
    _format("Q5_K", 13, 256, "scale:<f2 low:<f2 small:u1:12 high:u1:32 quants:u1:128", "Q8_K"),
    _format("Q6_K", 14, 256, "quants:u1:128 high:u1:64 small:i1:16 scale:<f2", "Q8_K"),
    _format("Q8_K", 15, 256, "scale:<f4 quants:i1:256 sums:<i2:16"),
)

FORMATS: dict[str, Format] = {entry.name: entry for entry in _ALL}
WEIGHTS: tuple[str, ...] = tuple(entry.name for entry in _ALL if entry.columns)


def random_blocks(random: np.random.Generator, name: str, rows: int, blocks: int) -> Blocks:
    """Blocks [rows, blocks] of any quants, with scales of both signs; sums are what they must be."""
    made = np.zeros((rows, blocks), dtype=FORMATS[name].block)
    for field in made.dtype.names or ():
        values = made[field]
        if values.dtype.kind == "f":
            made[field] = random.normal(size=values.shape)
        elif values.dtype == np.int8 and field == "quants":
            made[field] = random.integers(-127, 128, size=values.shape)  # -128 is never made
        else:
            info = np.iinfo(values.dtype)
            made[field] = random.integers(info.min, info.max, size=values.shape, endpoint=True)
    if name == "Q8_1":
        made["sum"] = made["scale"] * made["quants"].sum(axis=-1)
    elif name == "Q8_K":
        made["sums"] = made["quants"].reshape(rows, blocks, 16, 16).sum(axis=-1)
    return made
