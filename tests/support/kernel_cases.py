"""Inputs for the kernels' tests: odd shapes in poisoned memory, and values that fast code gets wrong."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)

SHAPES = [(1, 1), (3, 2), (2, 31), (1, 32), (3, 33), (5, 97), (7, 1021), (2, 4099), (13, 8191)]
DENSITIES = [0.0, 0.001, 0.02, 0.5, 0.98, 1.0, None]
VALUES = ["normal", "ties", "special", "nan", "lowest"]


class Case(NamedTuple):
    """One call's input, and the buffers that hold it, to see that nothing writes there."""

    logits: npt.NDArray[np.float32]
    mask: npt.NDArray[np.int32] | None
    buffers: tuple[npt.NDArray[np.generic], ...]


def case(shape: tuple[int, int], density: float | None, values: str) -> Case:
    rows, vocabulary = shape
    rng = np.random.default_rng([rows, vocabulary, int(1000 * (density or 0)), VALUES.index(values)])
    logits, around = poisoned(draw_values(rng, shape, values), poison=np.float32(np.nan))
    if density is None:
        return Case(logits, None, (around,))
    mask, around_mask = poisoned(draw_mask(rng, shape, density), poison=np.int32(-1))
    return Case(logits, mask, (around, around_mask))


def poisoned(content: npt.NDArray[T], poison: T) -> tuple[npt.NDArray[T], npt.NDArray[T]]:
    """`content` as a view with `poison` before, after and between its rows; and the buffer around it."""
    rows, columns = content.shape
    stride = columns + 5
    buffer = np.full((rows + 2) * stride + 3, poison, content.dtype)
    inside = buffer[stride + 3 : stride + 3 + rows * stride].reshape(rows, stride)[:, :columns]
    inside[...] = content
    return inside, buffer


def draw_values(rng: np.random.Generator, shape: tuple[int, int], values: str) -> npt.NDArray[np.float32]:
    drawn = rng.standard_normal(shape, dtype=np.float32) * 4
    if values == "ties":
        return rng.integers(-2, 3, shape).astype(np.float32)
    if values == "special":
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 3.0], np.float32)
        return np.where(rng.random(shape) < 0.3, rng.choice(special, shape), drawn).astype(np.float32)
    if values == "nan":
        return np.full(shape, np.nan, np.float32)
    if values == "lowest":
        return np.where(rng.random(shape) < 0.5, np.float32(np.nan), np.float32(-np.inf))
    return drawn


def draw_mask(rng: np.random.Generator, shape: tuple[int, int], density: float) -> npt.NDArray[np.int32]:
    """A packed mask whose bits past the vocabulary are all set: whoever reads them counts too many."""
    rows, vocabulary = shape
    bits = np.ones((rows, -(-vocabulary // 32) * 32), np.uint8)
    bits[:, :vocabulary] = rng.random(shape) < density
    return np.packbits(bits, axis=1, bitorder="little").view("<i4").astype(np.int32)
