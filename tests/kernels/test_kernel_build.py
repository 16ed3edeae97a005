"""Compiling the CUDA sources: each compiles where nvcc is, and the cache is keyed, shared and left clean."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import velospec_kernels
from velospec_kernels import _build
from velospec_kernels.errors import BuildError
from velospec_kernels.grammar_masked_argmax import cuda

PACKAGE = Path(velospec_kernels.__file__).parent
OPERATIONS = sorted(source.stem for source in PACKAGE.glob("*/*.cu"))
SYMBOLS = {
    "fused_sample": ["velospec_fused_sample"],
    "grammar_masked_argmax": ["velospec_grammar_masked_argmax", "velospec_grammar_masked_argmax_workspace"],
    "popcount_density": ["velospec_popcount_density"],
}
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None and not _build.USUAL_NVCC.exists(),
    reason="the CUDA compiler nvcc is not installed",
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    _build.version.cache_clear()
    return tmp_path / "home"


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def compiled(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where real compilations lie, each made once for all tests of this file."""
    monkeypatch.setenv("VELOSPEC_HOME", str(shared_home))
    return shared_home / "cache" / "kernels"


@pytest.fixture
def fake_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that notes its calls in `calls` beside its folder, and whose version lies there too."""
    cuda_home = tmp_path / "cuda"
    nvcc = cuda_home / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    (cuda_home / "version").write_text("release 1")
    nvcc.write_text(
        f'#!/bin/sh\ncase "$*" in --version) cat {cuda_home}/version; exit;; esac\n'
        f'echo "$*" >> {cuda_home}/calls\n'
        'for last; do :; done\necho compiled > "$last"\n'
    )
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    return cuda_home


def test_each_operation_has_a_source_a_reference_and_a_test() -> None:
    assert sorted(SYMBOLS) == OPERATIONS
    for operation in OPERATIONS:
        assert (PACKAGE / operation / "reference.py").exists()
        assert Path(__file__).with_name(f"test_{operation}.py").exists()


@needs_nvcc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_compiles_and_exports_its_launcher(operation: str, architecture: str, compiled: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts}
    library = _build.build(_build.source_of(operation), architecture)
    assert library.parent == compiled
    assert {path.suffix for path in compiled.iterdir()} == {".so"}
    loaded = ctypes.CDLL(str(library))
    for symbol in [*SYMBOLS[operation], "velospec_error_string"]:
        assert getattr(loaded, symbol)
    after = {path: path.stat().st_mtime_ns for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts}
    assert after == before, "the package's own folder was written to"


@needs_nvcc
def test_workspace_is_sized_as_the_source_wants_it(compiled: Path) -> None:
    library = ctypes.CDLL(str(_build.build(_build.source_of("grammar_masked_argmax"), "sm_90")))
    wanted = library.velospec_grammar_masked_argmax_workspace
    wanted.restype = ctypes.c_int64
    for rows, vocabulary in [(1, 1), (1, 4096), (3, 4097), (12, 248_320), (4096, 151_936)]:
        assert cuda.workspace_bytes(rows, vocabulary) == wanted(rows, vocabulary)


@needs_nvcc
def test_old_devices_are_refused_by_name() -> None:
    with pytest.raises(BuildError, match=r"need compute capability 8\.0 or later"):
        _build.build(_build.source_of("grammar_masked_argmax"), "sm_75")


@needs_nvcc
def test_an_error_of_the_compiler_is_shown_and_leaves_nothing(tmp_path: Path, home: Path) -> None:
    source = tmp_path / "broken.cu"
    source.write_text("int main( {")
    with pytest.raises(BuildError, match=r"(?s)failed with status \d+:.*broken\.cu.*error") as raised:
        _build.build(source, "sm_90")
    assert raised.value.remedy
    assert list((home / "cache" / "kernels").iterdir()) == []


def test_compiled_once_for_each_key(tmp_path: Path, fake_nvcc: Path) -> None:
    source = tmp_path / "some.cu"
    source.write_text("first")
    made = [_build.build(source, "sm_90") for _ in range(2)]
    assert made[0] == made[1]
    assert len(calls(fake_nvcc)) == 1
    assert "-gencode=arch=compute_90,code=sm_90" in calls(fake_nvcc)[0]

    others = {made[0], _build.build(source, "sm_80")}
    source.write_text("second")
    others.add(_build.build(source, "sm_90"))
    (fake_nvcc / "version").write_text("release 2")
    _build.version.cache_clear()
    others.add(_build.build(source, "sm_90"))
    assert len(others) == len(calls(fake_nvcc)) == 4
    assert sorted(made[0].parent.iterdir()) == sorted(others)


def calls(fake: Path) -> list[str]:
    return (fake / "calls").read_text().splitlines()


def test_shared_headers_are_part_of_the_key(
    tmp_path: Path, fake_nvcc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = tmp_path / "include"
    include.mkdir()
    (include / "a.cuh").write_text("1")
    monkeypatch.setattr(_build, "INCLUDE", include)
    source = tmp_path / "some.cu"
    source.write_text("same")
    first = _build.build(source, "sm_90")
    (include / "a.cuh").write_text("2")
    assert _build.build(source, "sm_90") != first
    assert len(calls(fake_nvcc)) == 2


def test_without_a_compiler_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_build, "USUAL_NVCC", tmp_path / "nvcc")
    with pytest.raises(
        BuildError, match=r"nvcc was not found \(CUDA_HOME is not set, .* Install the CUDA toolkit"
    ):
        _build.build(_build.source_of("popcount_density"), "sm_90")


def test_a_cache_that_cannot_be_written_is_named(
    home: Path, fake_nvcc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(BuildError, match=r"cannot be written: .*set VELOSPEC_HOME to a folder that is"):
        _build.build(_build.source_of("popcount_density"), "sm_90")


def test_a_library_that_is_none_is_named(fake_nvcc: Path) -> None:
    with pytest.raises(BuildError, match=r"cannot be loaded: .*Delete .* and try again"):
        _build.load("popcount_density", "sm_90")


def test_without_velospec_home_the_cache_is_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("VELOSPEC_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _build.cache_folder() == tmp_path / "velospec" / "kernels"


def test_importing_compiles_nothing_and_needs_numpy_alone(tmp_path: Path) -> None:
    code = (
        "import sys, velospec_kernels.grammar_masked_argmax, velospec_kernels.popcount_density,"
        "velospec_kernels.fused_sample, velospec_kernels.fused_logit_processor;"
        "heavy = {'torch', 'triton', 'xgrammar', 'llama_cpp', 'platformdirs', 'velospec'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
