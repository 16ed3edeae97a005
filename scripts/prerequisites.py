"""What the set-up needs from the machine, and the line that installs what is missing.

Checks everything before anything is installed, so that a missing compiler is not found after minutes.
Standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MINIMUM = (3, 11)
_NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")

# One line per family of systems, tried in this order: the tool that must be on PATH, and the line.
_INSTALL = (
    ("apt-get", "apt-get install python3 python3-venv g++ make"),
    ("dnf", "dnf install python3.11 gcc-c++ make"),
    ("pacman", "pacman -S --needed python gcc make"),
    ("zypper", "zypper install python311 gcc-c++ make"),
    ("apk", "apk add python3 g++ make linux-headers"),
    ("brew", "brew install python@3.12 && xcode-select --install"),
)
_ANY_SYSTEM = "install Python 3.11 or newer with venv and ensurepip, and a C++ compiler (g++ or clang++)"


def python() -> str | None:
    """The path of a Python that is new enough: this one, else the newest found on PATH, else None."""
    if sys.version_info >= MINIMUM:
        return sys.executable
    return next(filter(None, map(shutil.which, _NEWER)), None)


def missing(interpreter: str | None, *, compiler: bool, places: Mapping[Path, float]) -> list[str]:
    """Sentences on what is missing; empty if all is there.

    A compiler is looked for only if `compiler`; `places` are folders and the GB that each must have free.
    """
    found = []
    if interpreter is None:
        have = ".".join(map(str, sys.version_info[:3]))
        found.append(f"Python 3.11 or newer is needed; `python3` is {have}.")
    elif not _has_venv(interpreter):
        found.append(f"{interpreter} has no `venv` and `ensurepip` (Debian keeps them in python3-venv).")
    if compiler:
        found += _missing_compilers()
    for place, least in places.items():
        free = shutil.disk_usage(place).free / 1e9
        if free < least:
            found.append(f"{place} has {free:.1f} GB free; {least:.0f} GB are needed.")
    return found


def remedy() -> str:
    """The line that installs the prerequisites on this system."""
    for tool, line in _INSTALL:
        if shutil.which(tool):
            root = tool == "brew" or (hasattr(os, "geteuid") and os.geteuid() == 0)
            return line if root else f"sudo {line}"
    return _ANY_SYSTEM


def _has_venv(interpreter: str) -> bool:
    if interpreter == sys.executable:
        return all(map(importlib.util.find_spec, ("venv", "ensurepip")))
    probe = [interpreter, "-c", "import venv, ensurepip"]
    return subprocess.run(probe, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _missing_compilers() -> list[str]:
    """Sentences on the compilers that CMake would look for and not find."""
    found = []
    for language, variable, usual in (("C", "CC", "cc gcc clang"), ("C++", "CXX", "c++ g++ clang++")):
        names = os.environ.get(variable, "").split()[:1] or usual.split()
        if not any(map(shutil.which, names)):
            found.append(f"A {language} compiler is needed ({', '.join(names)}).")
    return found
