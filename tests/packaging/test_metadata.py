"""What an installation brings with it, and that the locks, the metadata and the change log agree."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import entry_points, metadata, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.repository import ROOT
from velospec import __version__

LOCKS = ROOT / "requirements"
LOCKED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)
TORCH_FAMILY = re.compile(r"^(torch|triton|xgrammar|nvidia-.*|transformers|tensorflow|jax)$")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked(name: str) -> dict[str, Version]:
    text = (LOCKS / name).read_text(encoding="utf-8")
    return {canonicalize_name(package): Version(version) for package, version in LOCKED.findall(text)}


def brought_by(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """All packages that installing `name` brings, as the metadata of the installed packages says."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(canonicalize_name(name), extras)]
    while waiting:
        item = waiting.pop()
        if item in seen:
            continue
        seen.add(item)
        for text in requires(item[0]) or ():
            requirement = Requirement(text)
            wanted = item[1] | {""}
            if not requirement.marker or any(requirement.marker.evaluate({"extra": e}) for e in wanted):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return {package for package, _ in seen}


def test_the_light_install_brings_llama_cpp_and_no_torch() -> None:
    brought = brought_by("velospec")
    assert {"llama-cpp-python", "pygls", "tree-sitter", "msgpack"} <= brought
    assert {package for package in brought if TORCH_FAMILY.match(package)} == set()


@pytest.mark.parametrize("lock", ["base.txt", "dev.txt", "native.txt", "build.txt"])
def test_no_lock_brings_torch(lock: str) -> None:
    assert {package for package in locked(lock) if TORCH_FAMILY.match(package)} == set()


def test_the_extras_are_those_that_the_documentation_names() -> None:
    assert set(metadata("velospec").get_all("Provides-Extra") or ()) == {
        "torch",
        "serve",
        "benchmark",
        "all",
        "dev",
    }


@pytest.mark.parametrize("lock", ["base.txt", "dev.txt"])
def test_the_locks_satisfy_the_project(lock: str) -> None:
    versions = locked(lock) | locked("native.txt")
    wanted = list(project()["project"]["dependencies"])
    if lock == "dev.txt":
        wanted += project()["project"]["optional-dependencies"]["dev"]
    for text in wanted:
        requirement = Requirement(text)
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text}: {version} is locked; run make lock"


def test_the_locks_agree_with_each_other() -> None:
    dev = locked("dev.txt")
    for lock in ("base.txt", "build.txt", "torch.txt"):
        assert {name: dev[name] for name in locked(lock) if name in dev} == {
            name: version for name, version in locked(lock).items() if name in dev
        }
    assert set(locked("base.txt")) <= set(dev)


@pytest.mark.parametrize("lock", ["base.txt", "dev.txt", "native.txt", "node.txt", "torch.txt"])
def test_every_locked_version_has_its_hash(lock: str) -> None:
    text = (LOCKS / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(LOCKED.findall(text))
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_native_package_is_asked_for_in_the_same_range_everywhere() -> None:
    [asked] = [line for line in lines(LOCKS / "native.in") if not line.startswith("#")]
    assert asked in project()["project"]["dependencies"]


def test_the_second_engine_is_asked_for_in_the_same_range_everywhere() -> None:
    [asked] = [line for line in lines(LOCKS / "torch.in") if line.startswith("xgrammar")]
    assert asked in project()["project"]["optional-dependencies"]["torch"]


def test_torch_is_locked_to_builds_for_the_cpu() -> None:
    wanted = [Requirement(line) for line in lines(LOCKS / "torch-cpu.txt") if not line.startswith("#")]
    linux = {"sys_platform": "linux"}
    [chosen] = [r for r in wanted if r.marker and r.marker.evaluate(linux)]
    assert str(chosen.specifier).endswith("+cpu")
    assert {r.name for r in wanted} == {"torch"}
    [range_] = [r for r in project()["project"]["optional-dependencies"]["torch"] if r.startswith("torch>")]
    assert all(Requirement(range_).specifier.contains(spec.version) for r in wanted for spec in r.specifier)


def test_the_build_tool_is_the_same_everywhere() -> None:
    [asked] = project()["build-system"]["requires"]
    assert asked in lines(LOCKS / "build.in")


@pytest.mark.parametrize("lock", sorted(file.name for file in LOCKS.iterdir()))
def test_no_lock_names_an_index(lock: str) -> None:
    text = (LOCKS / lock).read_text(encoding="utf-8")
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host", text)


def test_the_commands_are_the_two_that_are_documented() -> None:
    scripts = entry_points(group="console_scripts")
    ours = {script.name: script.value for script in scripts if script.value.startswith("velospec")}
    assert ours == {"velospec": "velospec_cli.app:main", "velospec-lsp": "velospec_lsp.main:main"}


def test_one_version_is_told_everywhere() -> None:
    assert project()["project"]["version"] == __version__
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert all(Version(head) <= Version(__version__) for head in heads[1:])


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()
