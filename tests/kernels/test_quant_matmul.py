"""The kernel for quantized weights against llama.cpp's dot products, bit for bit: all levels and formats."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from velospec_kernels import quant_matmul
from velospec_kernels._interposed import suspended
from velospec_kernels.quant_matmul import LEVELS, QuantMatmul, dot_products, reference
from velospec_kernels.quant_matmul.formats import FORMATS, WEIGHTS, Blocks, random_blocks

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="a kernel for Linux on x86-64"
)

ROWS, COLUMNS, BLOCKS = 37, 67, 3


class Product(NamedTuple):
    name: str
    weights: Blocks
    columns: Blocks
    expected: quant_matmul.Floats


def product_of(ggml_cpu: ctypes.CDLL, name: str, rows: int, columns: int, blocks: int) -> Product:
    random = np.random.default_rng([rows, columns, blocks])
    weights = random_blocks(random, name, rows, blocks)
    right = random_blocks(random, FORMATS[name].columns, columns, blocks)
    return Product(name, weights, right, dot_products(ggml_cpu, name, weights, right))


@pytest.fixture(scope="module")
def kernel(private: Callable[[Path, str], ctypes.CDLL]) -> QuantMatmul:
    return QuantMatmul(private(quant_matmul.SOURCE, quant_matmul.OPTIMIZE))


@pytest.fixture(params=LEVELS[1:])
def bound(kernel: QuantMatmul, ggml_cpu: ctypes.CDLL, request: pytest.FixtureRequest) -> QuantMatmul:
    runs = {"off": set(), "avx2": {"avx2"}, "avx-vnni": {"avx2", "avx-vnni"}}  # by the best level
    if request.param not in runs.get(kernel.best, {"avx2", "avx512-vnni"}):
        pytest.skip(f"this processor has no {request.param}")
    assert kernel.bind(ggml_cpu, request.param)
    assert kernel.formats == WEIGHTS
    return kernel


@pytest.fixture(scope="module", params=WEIGHTS)
def product(ggml_cpu: ctypes.CDLL, request: pytest.FixtureRequest) -> Product:
    ggml_cpu.ggml_cpu_init()
    return product_of(ggml_cpu, request.param, ROWS, COLUMNS, BLOCKS)


def test_every_shape_has_the_bits_of_single_rows(bound: QuantMatmul, product: Product) -> None:
    for rows in (1, 2, 3, 4, 5, 8, ROWS):
        for count in (*range(1, 10), 16, 31, 32, 33, COLUMNS):
            for threads in (1, 2, 3, 16):
                made = bound.multiply(
                    product.name, product.weights[:rows], product.columns[:count], threads=threads
                )
                assert made is not None
                expected = np.ascontiguousarray(product.expected[:count, :rows])
                assert made.tobytes() == expected.tobytes(), (rows, count, threads)


@pytest.mark.parametrize("blocks", [1, 2, 5, 18, 33])
@pytest.mark.parametrize("name", WEIGHTS)
def test_every_length_has_the_bits_of_single_rows(
    bound: QuantMatmul, ggml_cpu: ctypes.CDLL, name: str, blocks: int
) -> None:
    product = product_of(ggml_cpu, name, 6, 6, blocks)
    made = bound.multiply(name, product.weights, product.columns)
    assert made is not None
    assert made.tobytes() == product.expected.tobytes()


def test_nothing_but_the_result_is_written(bound: QuantMatmul, product: Product) -> None:
    before = product.weights.tobytes(), product.columns.tobytes()
    poisoned = np.full((5, 9 + 4), np.nan, dtype=np.float32)
    form = FORMATS[product.name]
    stride, weights, columns = (
        ctypes.c_int64(BLOCKS),
        product.weights.ctypes.data,
        product.columns.ctypes.data,
    )
    for thread in range(3):
        assert bound._library.llamafile_sgemm(
            ctypes.byref(quant_matmul.Params(thread, 3)),
            *(ctypes.c_int64(9), ctypes.c_int64(5), stride),
            *(ctypes.c_void_p(weights), stride, ctypes.c_void_p(columns), stride),
            *(ctypes.c_void_p(poisoned.ctypes.data), ctypes.c_int64(poisoned.shape[1])),
            *(form.number, FORMATS[form.columns].number, 0),
        )
    np.testing.assert_array_equal(poisoned[:, :9], product.expected[:5, :9])
    assert np.isnan(poisoned[:, 9:]).all()
    assert (product.weights.tobytes(), product.columns.tobytes()) == before


@pytest.mark.parametrize("name", WEIGHTS)
def test_extreme_quants_and_scales(bound: QuantMatmul, ggml_cpu: ctypes.CDLL, name: str) -> None:
    weights, columns = (
        random_blocks(np.random.default_rng(5), form, 8, 2) for form in (name, FORMATS[name].columns)
    )
    extremes = np.array([6e-8, 65504, -65504, 0, -0.0, np.inf, np.nan, 1], dtype="<f2")[:, None]
    weights["scale"] = extremes
    if "low" in (weights.dtype.names or ()):
        weights["low"] = extremes[::-1]
    for i, value in enumerate((0, 255, 127, 128, 1, 15, 240, 85)):
        weights["quants"][i] = np.array(value, np.uint8).view(weights["quants"].dtype)
    columns["quants"][:2], columns["quants"][2:4] = 127, -127
    if name.endswith("_K"):
        columns["sums"] = columns["quants"].reshape(8, 2, 16, 16).sum(axis=-1)
    if name == "Q8_0":  # -128, which the quantizer never makes, is not told from 128
        weights["quants"] = np.maximum(weights["quants"], -127)
    made = bound.multiply(name, weights, columns)
    assert made is not None
    np.testing.assert_array_equal(made, dot_products(ggml_cpu, name, weights, columns))


def test_the_product_is_right(bound: QuantMatmul, product: Product) -> None:
    made = bound.multiply(product.name, product.weights, product.columns)
    assert made is not None
    expected = reference.multiply(product.name, product.weights, product.columns)
    sizes = np.abs(reference.values("Q8", product.columns)) @ np.abs(
        reference.values(product.name, product.weights).T
    )
    # Columns of Q8_1 carry their sum in half precision.
    rounding = 2e-3 if FORMATS[product.name].columns == "Q8_1" else 1e-6
    assert (np.abs(made - expected) <= rounding * sizes).all()


def test_declines_what_it_does_not_serve(bound: QuantMatmul, product: Product) -> None:
    before = bound.calls
    with suspended([bound]):
        bound.multiply(product.name, product.weights, product.columns)
    assert bound.calls == before
    assert bound.multiply(product.name, product.weights, product.columns) is not None
    assert bound.calls == before + 1


def test_single_rows_can_be_left_to_llama_cpp(
    kernel: QuantMatmul, ggml_cpu: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quant_matmul, "SINGLE_ROWS", ("Q8_0",))
    assert kernel.bind(ggml_cpu) == (kernel.best != "off")
    assert kernel.formats == WEIGHTS
    for name in ("Q8_0", "Q6_K"):
        product = product_of(ggml_cpu, name, 4, 2, 2)
        assert (kernel.multiply(name, product.weights, product.columns[:1]) is None) == (name == "Q6_K")
        assert kernel.multiply(name, product.weights, product.columns) is not None


def test_a_format_whose_bits_differ_is_left_alone(
    kernel: QuantMatmul,
    ggml_cpu: ctypes.CDLL,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def other(cpu: ctypes.CDLL, name: str, *blocks: Blocks) -> quant_matmul.Floats:
        right = dot_products(cpu, name, *blocks)
        return np.nextafter(right, np.float32(np.inf)) if name == "Q4_1" else right

    monkeypatch.setattr(quant_matmul, "dot_products", other)
    assert kernel.bind(ggml_cpu) == (kernel.best != "off")
    assert kernel.formats == tuple(name for name in WEIGHTS if name != "Q4_1")
    assert "The kernel for Q4_1" in caplog.text
    product = product_of(ggml_cpu, "Q4_1", 4, 4, 2)
    calls = kernel.calls
    assert kernel.multiply("Q4_1", product.weights, product.columns) is None  # as does the original
    assert kernel.calls == calls
    monkeypatch.setattr(quant_matmul, "WEIGHTS", ("Q4_1",))
    assert not kernel.bind(ggml_cpu)
    assert kernel.level == "off"


@pytest.mark.parametrize("name", FORMATS)
def test_blocks_are_as_long_as_ggml_says(ggml_cpu: ctypes.CDLL, name: str) -> None:
    ggml_cpu.ggml_type_size.restype = ctypes.c_size_t
    ggml_cpu.ggml_blck_size.restype = ctypes.c_int64
    form = FORMATS[name]
    assert form.block.itemsize == ggml_cpu.ggml_type_size(form.number)
    assert form.length == ggml_cpu.ggml_blck_size(form.number)


def test_the_reference_is_ggmls_own_reading_of_blocks(ggml_cpu: ctypes.CDLL, product: Product) -> None:
    read = getattr(ggml_cpu, f"dequantize_row_{product.name[0].lower()}{product.name[1:]}")
    made = np.zeros(len(product.weights) * BLOCKS * FORMATS[product.name].length, dtype=np.float32)
    read(
        ctypes.c_void_p(product.weights.ctypes.data),
        ctypes.c_void_p(made.ctypes.data),
        ctypes.c_int64(made.size),
    )
    expected = reference.values(product.name, product.weights)
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)
