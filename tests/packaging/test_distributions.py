"""The wheel and the sdist carry everything, and the wheel works away from the checkout."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.distributions import (
    build,
    checked,
    clean_install,
    contents,
    copy_of_the_checkout,
)
from tests.support.repository import PACKAGES, clean_environment
from velospec import __version__

pytestmark = pytest.mark.packaging


@dataclass(frozen=True)
class Built:
    source: Path
    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    source = copy_of_the_checkout(tmp_path_factory.mktemp("checkout"))
    target = tmp_path_factory.mktemp("dist")
    return Built(source, build(source, target, "--sdist"), build(source, target, "--wheel"))


@pytest.fixture(scope="module")
def programs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_install(built.wheel, tmp_path_factory.mktemp("clean install") / "venv")


@pytest.fixture
def away(tmp_path: Path) -> dict[str, str]:
    return {**clean_environment(), "VELOSPEC_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


def test_the_wheel_carries_every_file_of_its_packages(built: Built) -> None:
    packages = [built.source / package.parent.name / package.name for package in PACKAGES]
    expected = {
        file.relative_to(package.parent).as_posix()
        for package in packages
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    shipped = {name for name in contents(built.wheel) if ".dist-info/" not in name}
    assert shipped == expected


@pytest.mark.parametrize(
    "needed",
    [
        "velospec/models/data/smollm2-135m-fim-lora-q8_0.gguf",
        "velospec/models/catalogue.toml",
        "velospec/control/priors.json",
        "velospec/learning/packs/python.rules",
        "velospec_cli/benchmark/suites/code.toml",
        "velospec_cli/benchmark/suites/editing.toml",
        "velospec/learning/packs/SOURCES.md",
        "velospec/py.typed",
        "velospec_lsp/py.typed",
        "velospec_cli/py.typed",
        "velospec_kernels/py.typed",
        "velospec_lsp/nvim/lua/velospec/init.lua",
    ],
)
def test_the_wheel_carries_its_data(built: Built, needed: str) -> None:
    assert len(contents(built.wheel)[needed]) > 0 or needed.endswith("py.typed")


@pytest.mark.parametrize(
    "pattern", ["velospec_kernels/*/*.cu", "velospec_kernels/*/*.[ch]", "velospec_cli/demo_project/**/*.py"]
)
def test_the_wheel_carries_files_of_a_kind(built: Built, pattern: str) -> None:
    assert [name for name in contents(built.wheel) if Path(name).match(pattern)]


def test_a_wheel_made_from_the_sdist_is_the_same(built: Built, tmp_path: Path) -> None:
    checked("tar", "-xzf", str(built.sdist), folder=tmp_path)
    (tmp_path / "dist").mkdir()
    again = build(tmp_path / f"velospec-{__version__}", tmp_path / "dist", "--wheel")
    assert contents(again) == contents(built.wheel)


def test_the_sdist_carries_what_builds_and_tests_it(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml"} <= names
    assert {"scripts/setup.py", "requirements/base.txt", "tests/conftest.py"} <= names


@pytest.mark.parametrize("script", ["velospec", "velospec-lsp"])
def test_the_commands_tell_their_version(programs: Path, script: str, away: dict[str, str]) -> None:
    shown = checked(str(programs / script), "--version", folder=Path(away["HOME"]), environment=away)
    assert shown == f"{script} {__version__}\n"


@pytest.mark.parametrize("script", ["velospec", "velospec-lsp"])
def test_the_commands_tell_their_use(programs: Path, script: str, away: dict[str, str]) -> None:
    shown = checked(str(programs / script), "--help", folder=Path(away["HOME"]), environment=away)
    assert script in shown
    assert "--version" in shown


def test_every_sub_command_of_the_wheel_can_be_loaded(programs: Path, away: dict[str, str]) -> None:
    names = checked(
        str(programs / "python"),
        "-c",
        "from velospec_cli.app import _PARTS; print(*_PARTS)",
        folder=Path(away["HOME"]),
        environment=away,
    ).split()
    assert {"model", "daemon", "status", "demo"} <= set(names)
    for name in names:
        shown = checked(
            str(programs / "velospec"), name, "--help", folder=Path(away["HOME"]), environment=away
        )
        assert f"velospec {name}" in shown


def test_nothing_of_the_checkout_is_imported(programs: Path, built: Built, away: dict[str, str]) -> None:
    script = """
import importlib, json, sys, importlib.metadata
for name in sys.argv[1:]:
    importlib.import_module(name)
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
ours = [file for file in files if file and "velospec" in file.rsplit("site-packages", 1)[-1]]
print(json.dumps({"ours": ours, "version": importlib.metadata.version("velospec")}))
"""
    modules = [
        "velospec",
        "velospec.daemon.client",
        "velospec_cli.app",
        "velospec_lsp.main",
        "velospec_kernels",
    ]
    found = json.loads(
        checked(str(programs / "python"), "-c", script, *modules, folder=Path(away["HOME"]), environment=away)
    )
    assert found["version"] == __version__
    assert len(found["ours"]) >= len(modules)
    assert [file for file in found["ours"] if not file.startswith(str(programs.parent))] == []


def test_the_catalogue_is_read_from_the_wheel(programs: Path, away: dict[str, str]) -> None:
    shown = checked(
        str(programs / "velospec"), "model", "list", "--json", folder=Path(away["HOME"]), environment=away
    )
    assert "smollm2-135m-fim" in shown
