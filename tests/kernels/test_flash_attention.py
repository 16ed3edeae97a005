"""The attention kernel against its reference and llama.cpp's own, and rows that do not know of each other."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from velospec_kernels import flash_attention
from velospec_kernels.flash_attention import FlashAttention, random_case
from velospec_kernels.flash_attention.ggml import BF16, F16, F32, Graph
from velospec_kernels.flash_attention.reference import Case, attention

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="a kernel for Linux on x86-64"
)

SHAPES = [
    (1, 9, 3, 48, 64),
    (16, 9, 3, 300, 64),
    (5, 4, 4, 33, 8),
    (2, 8, 1, 257, 256),
    (40, 6, 2, 64, 128),
    (3, 2, 1, 1, 72),
]
"""Rows, heads, key heads, positions, width."""


@pytest.fixture(scope="module")
def kernel(ggml_cpu: ctypes.CDLL, private: Callable[[Path, str], ctypes.CDLL]) -> FlashAttention:
    kernel = FlashAttention(private(flash_attention.SOURCE, "-O3"))
    if not kernel.bind(ggml_cpu):
        pytest.skip("this processor has no AVX2")
    return kernel


def case_of(shape: tuple[int, ...], seed: int = 3) -> Case:
    rows, heads, key_heads, positions, width = shape
    random = np.random.default_rng(seed)
    return random_case(random, rows=rows, heads=heads, key_heads=key_heads, positions=positions, width=width)


@pytest.mark.parametrize("kind", [F16, BF16])
@pytest.mark.parametrize("shape", SHAPES)
def test_is_attention(
    kernel: FlashAttention, ggml_cpu: ctypes.CDLL, shape: tuple[int, ...], kind: int
) -> None:
    case = case_of(shape)
    graph = Graph(ggml_cpu, case, kind)
    calls = kernel.calls
    for threads in (1, 2, 5):
        made = kernel.attend(graph, threads=threads)
        np.testing.assert_allclose(made, attention(case), rtol=1e-4, atol=1e-5)
    assert kernel.calls == calls + 3
    graph.close()


def test_is_what_llama_cpp_makes_of_it(kernel: FlashAttention, ggml_cpu: ctypes.CDLL) -> None:
    for shape in SHAPES:
        graph = Graph(ggml_cpu, case_of(shape), BF16)
        kernel.switch("off")
        theirs = graph.compute(2)
        kernel.switch("avx2")
        # Theirs rounds the queries to seven bits of fraction.
        np.testing.assert_allclose(kernel.attend(graph), theirs, atol=0.05)
        graph.close()


def test_a_row_has_the_same_bits_alone_and_with_others(kernel: FlashAttention, ggml_cpu: ctypes.CDLL) -> None:
    case = case_of((16, 9, 3, 300, 64))
    graph = Graph(ggml_cpu, case, BF16)
    together = kernel.attend(graph, threads=2)
    graph.close()
    for row in range(16):
        # Alone, the cache ends with what the row may see, as when rows are decoded one by one.
        seen = 300 - 16 + row + 1
        alone = replace(
            case,
            queries=case.queries[:, row : row + 1],
            keys=case.keys[:, :seen],
            values=case.values[:, :seen],
            mask=case.mask[row : row + 1, :seen],
        )
        single = Graph(ggml_cpu, alone, BF16)
        for threads in (1, 2):
            assert kernel.attend(single, threads=threads).tobytes() == together[row : row + 1].tobytes()
        single.close()


def test_scores_far_apart_and_rows_that_see_nothing(kernel: FlashAttention, ggml_cpu: ctypes.CDLL) -> None:
    case = case_of((4, 2, 1, 70, 64))
    case = replace(case, scale=200.0, mask=case.mask.copy())
    case.mask[2] = -np.inf
    graph = Graph(ggml_cpu, case, F16)
    made = kernel.attend(graph)
    np.testing.assert_allclose(made, attention(case), rtol=1e-3, atol=1e-3)
    assert not made[2].any()
    graph.close()


def test_a_cache_in_single_precision_is_left_to_llama_cpp(
    kernel: FlashAttention, ggml_cpu: ctypes.CDLL
) -> None:
    case = case_of((2, 4, 2, 40, 64))
    graph = Graph(ggml_cpu, case, F32)
    calls = kernel.calls
    np.testing.assert_allclose(graph.compute(1), attention(case), rtol=1e-3, atol=1e-3)
    assert kernel.calls == calls
    graph.close()


def test_stays_off_where_it_is_wrong(
    kernel: FlashAttention,
    ggml_cpu: ctypes.CDLL,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(flash_attention, "attention", lambda case: attention(case) + 1)
    assert not kernel.bind(ggml_cpu)
    assert kernel.level == "off"
    assert "does not fit this llama.cpp and stays off" in caplog.text
    kernel.switch("avx2")
