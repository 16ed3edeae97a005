"""The Q8_0 kernel against llama.cpp's dot product, bit for bit, at every level that this processor has."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from velospec_kernels import _host, q8_matmul
from velospec_kernels._interposed import suspended
from velospec_kernels.q8_matmul import LEVELS, Q8Matmul, dot_products, random_blocks

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="a kernel for Linux on x86-64"
)


@pytest.fixture(scope="module")
def kernel() -> Q8Matmul:
    return Q8Matmul(ctypes.CDLL(str(_host.build(q8_matmul.SOURCE))))


@pytest.fixture(params=LEVELS[1:])
def bound(kernel: Q8Matmul, ggml_cpu: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Q8Matmul]:
    runs = {"off": set(), "avx2": {"avx2"}, "avx-vnni": {"avx2", "avx-vnni"}}  # by the best level
    if request.param not in runs.get(kernel.best, {"avx2", "avx512-vnni"}):
        pytest.skip(f"this processor has no {request.param}")
    assert kernel.bind(ggml_cpu, request.param)
    yield kernel
    kernel.switch("off")


def test_every_shape_has_the_bits_of_single_rows(bound: Q8Matmul, ggml_cpu: ctypes.CDLL) -> None:
    random = np.random.default_rng(7)
    weights, columns = random_blocks(random, 37, 5), random_blocks(random, 67, 5)
    expected = dot_products(ggml_cpu, weights, columns)
    for rows in (1, 2, 3, 4, 5, 8, 37):
        for count in (2, 3, 4, 5, 8, 31, 32, 33, 67):
            for threads in (1, 2, 3, 16):
                made = bound.multiply(weights[:rows], columns[:count], threads=threads)
                assert made is not None
                assert made.tobytes() == np.ascontiguousarray(expected[:count, :rows]).tobytes()


@pytest.mark.parametrize("blocks", [1, 2, 18, 48, 129])
def test_every_length_has_the_bits_of_single_rows(
    bound: Q8Matmul, ggml_cpu: ctypes.CDLL, blocks: int
) -> None:
    random = np.random.default_rng(blocks)
    weights, columns = random_blocks(random, 6, blocks), random_blocks(random, 6, blocks)
    made = bound.multiply(weights, columns)
    assert made is not None
    assert made.tobytes() == dot_products(ggml_cpu, weights, columns).tobytes()


def test_extreme_quants_and_scales(bound: Q8Matmul, ggml_cpu: ctypes.CDLL) -> None:
    weights, columns = (
        np.zeros((8, 2), dtype=random_blocks(np.random.default_rng(0), 1, 1).dtype) for _ in "ab"
    )
    for i, quant in enumerate((-127, 127, 0, -1, 1, 64, -64, 126)):
        weights["quants"][i], columns["quants"][i] = quant, -quant
    weights["scale"] = np.array([6e-8, 65504, -65504, 0, -0.0, np.inf, np.nan, 1], dtype="<f2")[:, None]
    columns["scale"] = 1
    made = bound.multiply(weights, columns)
    assert made is not None
    np.testing.assert_array_equal(made, dot_products(ggml_cpu, weights, columns))


def test_the_product_is_right(bound: Q8Matmul) -> None:
    random = np.random.default_rng(3)
    weights, columns = random_blocks(random, 12, 18), random_blocks(random, 5, 18)

    def values(blocks: q8_matmul.Blocks) -> np.ndarray:
        return (blocks["scale"].astype(float)[..., None] * blocks["quants"]).reshape(len(blocks), -1)

    made = bound.multiply(weights, columns)
    np.testing.assert_allclose(made, values(columns) @ values(weights).T, rtol=1e-5, atol=0.05)


def test_declines_single_rows_and_when_suspended(bound: Q8Matmul) -> None:
    random = np.random.default_rng(1)
    weights, columns = random_blocks(random, 4, 2), random_blocks(random, 2, 2)
    before = bound.calls
    assert bound.multiply(weights, columns[:1]) is None  # the original declines single rows too
    with suspended([bound]):
        assert bound.multiply(weights, columns) is not None  # made by the original
    assert bound.calls == before
    assert bound.multiply(weights, columns) is not None
    assert bound.calls == before + 1


def test_stays_off_where_the_bits_differ(
    kernel: Q8Matmul, ggml_cpu: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def other(*arguments: object) -> q8_matmul.Floats:
        return np.nextafter(dot_products(*arguments), np.float32(np.inf))  # type: ignore[arg-type]  # as called

    monkeypatch.setattr(q8_matmul, "dot_products", other)
    assert not kernel.bind(ggml_cpu)
    assert kernel.level == "off"
    assert "disagrees with llama.cpp and stays off" in caplog.text
