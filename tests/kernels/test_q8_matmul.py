"""The Q8_0 kernel against llama.cpp's dot product, bit for bit, at every level that this processor has."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from velospec_kernels import _host, q8_matmul
from velospec_kernels.errors import BuildError
from velospec_kernels.q8_matmul import LEVELS, Kernel, dot_products, random_blocks

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="a kernel for Linux on x86-64"
)


@pytest.fixture(scope="module")
def ggml_cpu() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(llama_cpp.__file__).parent / "lib" / "libggml-cpu.so"))


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel(_host.build(q8_matmul.SOURCE))


@pytest.fixture(params=LEVELS[1:])
def bound(kernel: Kernel, ggml_cpu: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Kernel]:
    runs = {"off": set(), "avx2": {"avx2"}, "avx-vnni": {"avx2", "avx-vnni"}}  # by the best level
    if request.param not in runs.get(kernel.best, {"avx2", "avx512-vnni"}):
        pytest.skip(f"this processor has no {request.param}")
    assert kernel.bind(ggml_cpu, request.param)
    yield kernel
    kernel._switch("off")


def test_every_shape_has_the_bits_of_single_rows(bound: Kernel, ggml_cpu: ctypes.CDLL) -> None:
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
def test_every_length_has_the_bits_of_single_rows(bound: Kernel, ggml_cpu: ctypes.CDLL, blocks: int) -> None:
    random = np.random.default_rng(blocks)
    weights, columns = random_blocks(random, 6, blocks), random_blocks(random, 6, blocks)
    made = bound.multiply(weights, columns)
    assert made is not None
    assert made.tobytes() == dot_products(ggml_cpu, weights, columns).tobytes()


def test_extreme_quants_and_scales(bound: Kernel, ggml_cpu: ctypes.CDLL) -> None:
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


def test_the_product_is_right(bound: Kernel) -> None:
    random = np.random.default_rng(3)
    weights, columns = random_blocks(random, 12, 18), random_blocks(random, 5, 18)

    def values(blocks: q8_matmul.Blocks) -> np.ndarray:
        return (blocks["scale"].astype(float)[..., None] * blocks["quants"]).reshape(len(blocks), -1)

    made = bound.multiply(weights, columns)
    np.testing.assert_allclose(made, values(columns) @ values(weights).T, rtol=1e-5, atol=0.05)


def test_declines_single_rows_and_when_suspended(bound: Kernel) -> None:
    random = np.random.default_rng(1)
    weights, columns = random_blocks(random, 4, 2), random_blocks(random, 2, 2)
    before = bound.calls
    assert bound.multiply(weights, columns[:1]) is None  # the original declines single rows too
    with bound.suspended():
        assert bound.multiply(weights, columns) is not None  # made by the original
    assert bound.calls == before
    assert bound.multiply(weights, columns) is not None
    assert bound.calls == before + 1


def test_stays_off_where_the_bits_differ(
    kernel: Kernel, ggml_cpu: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def other(*arguments: object) -> q8_matmul.Floats:
        return np.nextafter(dot_products(*arguments), np.float32(np.inf))  # type: ignore[arg-type]  # as called

    monkeypatch.setattr(q8_matmul, "dot_products", other)
    assert not kernel.bind(ggml_cpu)
    assert kernel.level == "off"
    assert "disagrees with llama.cpp and stays off" in caplog.text


def kernel_of_a_process(**environment: str) -> str:
    code = "from velospec.backends.llama_cpp import native; print(native.kernel_name())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_process_takes_the_kernel_and_works_without_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    if Kernel(_host.build(q8_matmul.SOURCE)).best != "off":
        assert kernel_of_a_process(VELOSPEC_HOME=home).startswith("q8_matmul ")
    assert kernel_of_a_process(VELOSPEC_HOME=home, VELOSPEC_Q8_MATMUL="off") == "llama.cpp"
    elsewhere = {"VELOSPEC_HOME": str(tmp_path / "other"), "PATH": str(tmp_path), "CC": "no-such-compiler"}
    assert kernel_of_a_process(**elsewhere) == "llama.cpp"


def test_is_not_tried_with_an_unknown_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(q8_matmul, "_TESTED", frozenset({"0.0.1"}))
    assert q8_matmul.preload() is None


def test_a_source_that_does_not_compile_names_the_compiler(tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int f(void) { return; }\n#error no\n", encoding="utf-8")
    with pytest.raises(BuildError, match="failed with status"):
        _host.build(broken)
