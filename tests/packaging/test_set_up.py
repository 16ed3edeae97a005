"""The set-up says what is missing before it starts, shows its progress, and recovers from a kill."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.distributions import copy_of_the_checkout
from tests.support.repository import ROOT, clean_environment

pytestmark = pytest.mark.packaging


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The scripts' folder on the path, and their modules forgotten afterwards."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    yield ROOT / "scripts"
    for name in ("prerequisites", "progress"):
        sys.modules.pop(name, None)


@pytest.fixture
def prerequisites(scripts: Path) -> ModuleType:
    assert scripts.is_dir()
    return importlib.import_module("prerequisites")


@pytest.fixture
def progress(scripts: Path) -> ModuleType:
    assert scripts.is_dir()
    return importlib.import_module("progress")


def programs(folder: Path, *names: str) -> str:
    """A folder that holds programs of these names, as the value of PATH."""
    folder.mkdir()
    for name in names:
        program = folder / name
        program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("tool", "user", "line"),
    [
        ("apt-get", 1000, "sudo apt-get install python3 python3-venv g++ make"),
        ("apt-get", 0, "apt-get install python3 python3-venv g++ make"),
        ("dnf", 1000, "sudo dnf install python3.11 gcc-c++ make"),
        ("pacman", 1000, "sudo pacman -S --needed python gcc make"),
        ("zypper", 1000, "sudo zypper install python311 gcc-c++ make"),
        ("apk", 0, "apk add python3 g++ make linux-headers"),
        ("brew", 1000, "brew install python@3.12 && xcode-select --install"),
    ],
)
def test_the_line_that_installs_suits_the_system(
    prerequisites: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tool: str,
    user: int,
    line: str,
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", tool))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert prerequisites.remedy() == line


def test_an_unknown_system_is_told_what_is_needed(
    prerequisites: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin"))
    assert "a C++ compiler" in prerequisites.remedy()


def test_both_compilers_disk_and_python_are_looked_at(
    prerequisites: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "gcc"))
    found = prerequisites.missing(None, compiler=True, places={tmp_path: 1e9})
    assert [sentence.split()[0] for sentence in found[:2]] == ["Python", "A"]
    assert "C++" in found[1]
    assert "1000000000 GB are needed" in found[2]
    assert len(found) == 3


def test_a_compiler_that_the_environment_names_is_the_one_looked_for(
    prerequisites: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "gcc", "g++", "clang++"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("CXX", "clang++ -stdlib=libc++")
    assert prerequisites.missing(sys.executable, compiler=True, places={}) == []
    monkeypatch.setenv("CXX", "icpx")
    [sentence] = prerequisites.missing(sys.executable, compiler=True, places={})
    assert "icpx" in sentence


def test_nothing_is_made_where_a_compiler_is_missing(tmp_path: Path) -> None:
    for folder in ("scripts", "requirements"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    environment = {**clean_environment(), "PATH": programs(tmp_path / "bin", "apt-get"), "CC": "", "CXX": ""}
    result = set_up(tmp_path, environment)
    assert result.returncode == 1
    assert "A C++ compiler is needed" in result.stderr
    assert "apt-get install python3 python3-venv g++ make" in result.stderr
    assert not (tmp_path / ".venv").exists()


def set_up(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder / "scripts" / "setup.py")],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_killed_set_up_starts_over_in_a_folder_with_an_odd_name(tmp_path: Path) -> None:
    kept = ROOT / ".cache" / "wheels"
    if not list(kept.glob("*/*.whl")):
        pytest.skip("llama.cpp was not compiled by scripts/setup.py here, and compiling it takes minutes")
    folder = copy_of_the_checkout(tmp_path / "a clone, naïve 目")
    shutil.copytree(kept, folder / ".cache" / "wheels")
    (folder / ".venv" / ".velospec").mkdir(parents=True)
    (folder / ".venv" / ".velospec" / "unfinished").touch()
    (folder / ".venv" / "bin").mkdir()
    (folder / ".venv" / "bin" / "python").write_text("half a file", encoding="utf-8")
    environment = {**clean_environment(), "VELOSPEC_HOME": str(tmp_path / "home")}

    first = set_up(folder, environment)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Compiling llama.cpp" not in first.stdout
    shown = subprocess.run(
        [str(folder / ".venv" / "bin" / "velospec"), "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("velospec ")

    second = set_up(folder, environment)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_a_set_up_without_a_cpu_build_of_torch_goes_on_and_says_what_is_left_out(tmp_path: Path) -> None:
    for folder in ("scripts", "requirements"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / ".venv")], check=True)
    result = subprocess.run(
        [sys.executable, "-c", "import setup; setup._second_engine()"],
        cwd=tmp_path / "scripts",
        env={**clean_environment(), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "Left out, and its tests with it. Installing torch" in result.stdout
    assert "torch==2.13.0" in (tmp_path / ".cache" / "log" / "pip-install.log").read_text(encoding="utf-8")


def test_the_progress_of_a_compile_is_shown_and_kept(
    progress: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = "print('Collecting numpy'); print('  [3/7] Building CXX object')"
    progress.run(
        "Compiling", [sys.executable, "-c", script], tmp_path / "log" / "it.log", os.environ, tmp_path
    )
    assert capsys.readouterr().out.splitlines() == ["Compiling  0:00  ", "Compiling  0:00  done"]
    assert "[3/7]" in (tmp_path / "log" / "it.log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  [12/140] Building CXX object ggml.o", "compiling 12/140"),
        ("[ 47%] Building CXX object ggml.o", "compiling 47%"),
        ("Collecting numpy==2.4.6", "collecting numpy==2.4.6"),
        ("  Downloading https://example.org/a/numpy-2.4.6.whl (1 MB)", "downloading numpy-2.4.6.whl"),
        ("Installing collected packages: a, b", "installing"),
        ("anything else", ""),
    ],
)
def test_lines_of_the_tools_are_understood(progress: ModuleType, line: str, shown: str) -> None:
    assert progress._detail(line) == shown


def test_a_failed_step_carries_the_end_of_its_output(progress: ModuleType, tmp_path: Path) -> None:
    script = "[print(f'line {i}') for i in range(100)]; raise SystemExit(3)"
    with pytest.raises(progress.StepError, match=r"Compiling: failed \(status 3\).*it\.log") as failed:
        progress.run("Compiling", [sys.executable, "-c", script], tmp_path / "it.log", os.environ, tmp_path)
    assert "line 99" in failed.value.tail
    assert "line 10\n" not in failed.value.tail
