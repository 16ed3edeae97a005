"""Whole models in every format: llama.cpp with our kernels has its own bits, whatever the number of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.random_quantized import write_llama
from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions, native
from velospec.backends.llama_cpp.layout import keeps_file_layout
from velospec_kernels.quant_matmul import QuantMatmul

OPTIONS = LlamaOptions(context=128, slots=1, repack=False)
IDS = list(range(3, 90))
PROMPT = 50


@pytest.fixture(scope="module")
def kernel() -> QuantMatmul:
    found = [kernel for kernel in native.kernels if isinstance(kernel, QuantMatmul) and kernel.level != "off"]
    if not found:
        pytest.skip(f"running: {native.kernel_names()}")
    return found[0]


@pytest.fixture(scope="module", params=["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K+Q6_K", "Q5_K+Q6_K"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llama(tmp_path_factory.mktemp("models") / f"{request.param}.gguf", request.param)


def rows_alone(backend: LlamaBackend, count: int) -> np.ndarray:
    backend.truncate(0, 0)
    backend.prefill(0, IDS[:PROMPT], 0)
    return np.array([backend.decode(0, [IDS[at]], at)[0].copy() for at in range(PROMPT, PROMPT + count)])


def test_rows_have_the_bits_of_llama_cpps_single_rows(kernel: QuantMatmul, model: Path) -> None:
    backend = LlamaBackend(model, OPTIONS)
    with native.suspended([kernel]):  # attention stays ours, which is not the same to the last bit
        own = rows_alone(backend, 16)
    calls = kernel.calls
    alone = rows_alone(backend, 16)
    assert kernel.calls > calls
    assert np.isfinite(own).all()
    assert own.std() > 0.01
    np.testing.assert_array_equal(alone, own)
    for count in (2, 3, 5, 8, 16):
        backend.truncate(0, PROMPT)
        together = backend.decode(0, IDS[PROMPT : PROMPT + count], PROMPT)
        np.testing.assert_array_equal(together, own[:count])
    backend.close()


def test_weights_stay_as_the_file_has_them_where_the_kernel_serves_all(
    kernel: QuantMatmul, model: Path, tmp_path: Path
) -> None:
    assert keeps_file_layout(model)
    with native.suspended([kernel]):
        assert not keeps_file_layout(model)
    assert not keeps_file_layout(tmp_path / "absent.gguf")


def test_experts_are_left_to_llama_cpp(kernel: QuantMatmul, tmp_path: Path) -> None:
    assert not keeps_file_layout(write_llama(tmp_path / "experts.gguf", "Q4_K", experts=2))
