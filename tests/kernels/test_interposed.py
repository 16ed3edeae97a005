"""Kernels in the place of llama.cpp's functions: taken by a new process, or done without."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from velospec_kernels import _host, _interposed, flash_attention, quant_matmul
from velospec_kernels.errors import BuildError
from velospec_kernels.quant_matmul.formats import WEIGHTS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="kernels for Linux on x86-64"
)


def kernels_of_a_process(**environment: str) -> str:
    code = "from velospec.backends.llama_cpp import native; print(native.kernel_names())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_process_takes_the_kernels(tmp_path: Path) -> None:
    names = kernels_of_a_process(VELOSPEC_HOME=str(tmp_path))
    assert len(list((tmp_path / "cache" / "kernels").glob("*-host-*.so"))) == 2
    if names == "none":
        pytest.skip("this processor has no AVX2")
    assert "QuantMatmul avx" in names
    assert " ".join(WEIGHTS) in names
    assert "FlashAttention avx2" in names


def test_a_process_works_without_them(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert kernels_of_a_process(VELOSPEC_HOME=home, VELOSPEC_CPU_KERNELS="off") == "none"
    assert kernels_of_a_process(VELOSPEC_HOME=home, PATH=home, CC="no-such-compiler") == "none"


@pytest.mark.parametrize("preload", [quant_matmul.preload, flash_attention.preload])
def test_is_not_tried_with_an_unknown_version(
    preload: Callable[[], object], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_interposed, "TESTED", frozenset({"0.0.1"}))
    caplog.set_level("INFO")
    assert preload() is None
    assert "was not tested with version" in caplog.text


def test_a_source_that_does_not_compile_names_the_command(tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("#error no\n", encoding="utf-8")
    with pytest.raises(BuildError, match="failed with status"):
        _host.build(broken)


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(BuildError, match="apt-get install gcc"):
        _host.find_compiler()
