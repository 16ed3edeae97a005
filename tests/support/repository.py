"""The project's own files, for tests that look at the source rather than run it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    ROOT / "engine" / "velospec",
    ROOT / "kernels" / "velospec_kernels",
    ROOT / "server" / "velospec_cli",
    ROOT / "server" / "velospec_lsp",
)


@cache
def shipped_modules() -> tuple[Path, ...]:
    """Python files of the distribution, but for the sample project, which is data."""
    found = (file for package in PACKAGES for file in package.rglob("*.py"))
    return tuple(sorted(file for file in found if "demo_project" not in file.parts))


@cache
def all_python_files() -> tuple[Path, ...]:
    """The distribution's files, the scripts and the tests."""
    others = (file for folder in ("scripts", "tests") for file in _walk(ROOT / folder))
    return (*shipped_modules(), *sorted(others))


def _walk(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*.py") if "node_modules" not in file.parts)


def relative(file: Path) -> str:
    """The path of `file` as a reader of a failed test wants it."""
    return file.relative_to(ROOT).as_posix()


def command(name: str) -> str:
    """The path of a console script that is installed beside the running Python."""
    return str(Path(sys.executable).parent / name)


def clean_environment() -> dict[str, str]:
    """The environment without what would let a child find the checkout or write colours."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "FORCE_COLOR", "PYTEST_CURRENT_TEST")
    return {name: value for name, value in os.environ.items() if name not in dropped}
