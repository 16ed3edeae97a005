"""Allowed counts and densities: the reference by hand-written answers, the numpy form by the reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.kernel_cases import DENSITIES, SHAPES, case
from velospec_kernels import bitmask
from velospec_kernels.popcount_density import CpuDensity, Density, popcount_density


def junk(rows: int) -> CpuDensity:
    return Density(np.full(rows, -77, np.int32), np.full(rows, np.nan, np.float32))


@pytest.mark.parametrize("backend", ["reference", "numpy"])
def test_answers_written_by_hand(backend: str) -> None:
    mask = np.array([[-1, -1], [0, 0], [1, 4], [-(2**31), 8]], np.int32)  # 3 bits of word 1 are ids
    got = popcount_density(mask, 35, backend=backend)
    assert got.counts.tolist() == [35, 0, 2, 1]
    assert got.density.tolist() == [np.float32(count) / np.float32(35) for count in (35, 0, 2, 1)]
    assert (got.counts.dtype, got.density.dtype) == (np.int32, np.float32)


@pytest.mark.parametrize("density", [density for density in DENSITIES if density is not None])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_numpy_equals_reference(
    shape: tuple[int, int], density: float, dtype: type[np.int32 | np.uint32]
) -> None:
    given_case = case(shape, density, "normal")
    assert given_case.mask is not None
    mask = given_case.mask.view(dtype)
    before = given_case.buffers[1].tobytes()
    results = []
    for backend in ("reference", "numpy"):
        out = junk(shape[0])
        assert popcount_density(mask, shape[1], out=out, backend=backend) is out
        results.append(out)
    np.testing.assert_array_equal(results[1].counts, results[0].counts)
    np.testing.assert_array_equal(results[1].density, results[0].density)
    assert given_case.buffers[1].tobytes() == before, "the mask was written to"


def test_counts_what_pack_packs() -> None:
    mask = np.stack([bitmask.pack(range(0, 1021, 7), 1021), bitmask.pack([], 1021)])
    assert popcount_density(mask, 1021).counts.tolist() == [146, 0]


def test_no_rows_no_answer() -> None:
    got = popcount_density(np.empty((0, 2), np.int32), 40)
    assert got.counts.shape == got.density.shape == (0,)
