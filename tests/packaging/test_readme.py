"""Each block of the README that a reader would copy is run here, or by the test that is named here.

The second word after the fence says how. A block without one, or with a word that is not in the table, fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.distributions import copy_of_the_checkout
from tests.support.repository import ROOT, clean_environment
from velospec.models.store import InstalledModel

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)

RUN_BY = {
    "sh make": "test_make_targets_do_what_the_readme_says",
    "sh system": "test_the_line_that_installs_prerequisites_is_the_one_that_the_set_up_shows",
    "sh pipx": "test_it_installs_and_leaves_nothing_behind",
    "sh run": "test_commands_work_with_the_default_model",
    "sh answer": "test_answers_without_an_editor",
    "sh uninstall": "test_it_installs_and_leaves_nothing_behind",
    "sh test": "this very run: it would start itself again",
    "lua": "tests/editors: a real Neovim starts with this text",
}


def blocks(info: str) -> list[str]:
    return [match["body"] for match in FENCE.finditer(README) if match["info"] == info]


def run(script: str, folder: Path, environment: dict[str, str]) -> str:
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def with_programs_of_the_environment(**more: str) -> dict[str, str]:
    environment = clean_environment()
    own = str(Path(sys.executable).parent)
    return {**environment, "PATH": f"{own}{os.pathsep}{environment['PATH']}", **more}


def test_every_block_is_run_by_a_test() -> None:
    found = {match["info"] for match in FENCE.finditer(README)}
    assert found == set(RUN_BY)


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_line_that_installs_prerequisites_is_the_one_that_the_set_up_shows() -> None:
    source = (ROOT / "scripts" / "prerequisites.py").read_text(encoding="utf-8")
    for block in blocks("sh system"):
        assert f'"{block.strip().removeprefix("sudo ")}"' in source


def test_the_flags_are_those_of_the_set_up() -> None:
    source = (ROOT / "scripts" / "setup.py").read_text(encoding="utf-8")
    [flags] = re.findall(r'^DEFAULT_FLAGS = "(.*)"$', source, re.MULTILINE)
    assert f'export CMAKE_ARGS="{flags}"' in README


@pytest.mark.model
@pytest.mark.packaging
def test_make_targets_do_what_the_readme_says(default_model: InstalledModel) -> None:
    if not (ROOT / ".venv" / ".velospec" / "base.stamp").exists():
        pytest.skip("this environment was not set up by make, which would set up another one now")
    [block] = blocks("sh make")
    shown = run(block, ROOT, clean_environment())
    assert default_model.name in shown
    assert "All outputs with drafts are identical to those without" in " ".join(shown.split())


@pytest.mark.model
@pytest.mark.parametrize("block", blocks("sh run"))
def test_commands_work_with_the_default_model(
    block: str, default_model: InstalledModel, tmp_path: Path
) -> None:
    shown = run(block, tmp_path, with_programs_of_the_environment())
    assert default_model.name in shown


@pytest.mark.model
def test_answers_without_an_editor(default_model: InstalledModel, tmp_path: Path) -> None:
    (tmp_path / "area.py").write_text("def area(width, height):\n    return width\n", "utf-8")
    [block] = blocks("sh answer")
    shown = run(block, tmp_path, with_programs_of_the_environment())
    assert shown.startswith(" * height\n")
    assert "def add" in shown


@pytest.mark.packaging
def test_it_installs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    wheels = list((ROOT / ".cache" / "wheels").glob("*/llama_cpp_python-*.whl"))
    if not wheels:
        pytest.skip("llama.cpp was not compiled by scripts/setup.py here, and compiling it takes minutes")
    source = copy_of_the_checkout(tmp_path / "checkout")
    environment = offline_for_llama_cpp(wheels[0], tmp_path)
    home = Path(environment["HOME"])

    run(blocks("sh pipx")[0], source, environment)
    program = home / ".local" / "bin" / "velospec"
    assert program.resolve().is_relative_to(home)
    assert run("velospec --version && velospec-lsp --version", tmp_path, environment).count("0.1.0") == 2
    shown = run("velospec model list --json", tmp_path, environment)
    assert "smollm2-135m-fim" in shown

    run(blocks("sh uninstall")[0], tmp_path, environment)
    left = {path.name for path in home.rglob("*velospec*") if "pipx/logs" not in path.as_posix()}
    assert left <= {".velospec.lock"}  # a lock file of pipx's own


def offline_for_llama_cpp(wheel: Path, folder: Path) -> dict[str, str]:
    """An environment with a home of its own, in which pip takes the llama.cpp that was compiled before."""
    kept = folder / "wheels"
    kept.mkdir()
    shutil.copy(wheel, kept)
    version = wheel.name.split("-")[1]
    constraint = folder / "constraint.txt"
    constraint.write_text(f"llama-cpp-python=={version}\n", encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    environment = with_programs_of_the_environment(
        HOME=str(home),
        PATH=os.pathsep.join(
            [str(home / ".local" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
        PIP_FIND_LINKS=f"{kept} {os.environ.get('PIP_FIND_LINKS', '')}".strip(),
        PIP_ONLY_BINARY="llama-cpp-python",
        PIP_CONSTRAINT=str(constraint),
    )
    for variable in ("VELOSPEC_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        environment.pop(variable, None)
    return environment
