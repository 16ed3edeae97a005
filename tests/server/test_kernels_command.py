"""`velospec kernels` and `velospec benchmark kernels`, where there need be no GPU and no compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from velospec.core.errors import VeloSpecError
from velospec_cli import kernels
from velospec_cli.benchmark.command import benchmark
from velospec_kernels import _build, ahead

OPERATIONS = ["fused_sample", "grammar_masked_argmax", "popcount_density"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "cache" / "kernels"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that makes an empty library of anything."""
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text('#!/bin/sh\nfor last; do :; done\n[ "$last" = --version ] && echo 1 || : > "$last"\n')
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))


def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_build, "USUAL_NVCC", tmp_path / "nvcc")


@pytest.mark.usefixtures("compiler")
def test_build_compiles_each_once_and_list_shows_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernels.show(["sm_90"])
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:4]] == [
        [operation, "sm_90", "no"] for operation in OPERATIONS
    ]
    assert not home.exists(), "listing compiled something"
    kernels.build(["sm_80", "sm_90"])
    assert sorted(path.name.rsplit("-", 1)[0] for path in home.iterdir()) == [
        f"{operation}-{target}" for operation in OPERATIONS for target in ("sm_80", "sm_90")
    ]
    assert "was there" not in capsys.readouterr().out
    kernels.build(["sm_90"])
    assert capsys.readouterr().out.count("was there") == 3
    kernels.show(["sm_90"])
    shown = capsys.readouterr().out
    assert str(home) in shown.replace("\n", "")
    assert all(path.name in shown for path in home.glob("*-sm_90-*"))


def test_without_a_compiler_list_says_so_and_build_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    no_compiler(monkeypatch, tmp_path)
    kernels.show(["sm_90"])
    assert "nvcc was not found" in capsys.readouterr().out
    with pytest.raises(VeloSpecError, match="nvcc was not found") as raised:
        kernels.build(["sm_90"])
    assert raised.value.remedy.startswith("Install the CUDA toolkit")


@pytest.mark.parametrize("name", ["90", "sm90", "compute_90", "sm_90; rm"])
def test_what_is_no_architecture_is_refused(name: str) -> None:
    with pytest.raises(VeloSpecError, match="is no architecture of CUDA"):
        kernels.build([name])


def test_without_a_gpu_there_is_a_default_and_no_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Torch:
        class cuda:  # noqa: N801 - as torch writes it
            is_available = staticmethod(lambda: False)
            device_count = staticmethod(lambda: 0)

    monkeypatch.setitem(__import__("sys").modules, "torch", Torch)
    assert ahead.architectures() == [ahead.DEFAULT_ARCHITECTURE]
    with pytest.raises(VeloSpecError, match="torch sees no CUDA device") as raised:
        benchmark("kernels", json_file=None)
    assert "NVIDIA GPU" in raised.value.remedy


def test_each_architecture_of_the_gpus_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Torch:
        class cuda:  # noqa: N801 - as torch writes it
            device_count = staticmethod(lambda: 3)
            get_device_capability = staticmethod(lambda number: [(9, 0), (8, 6), (9, 0)][number])

    monkeypatch.setitem(__import__("sys").modules, "torch", Torch)
    assert ahead.architectures() == ["sm_86", "sm_90"]
