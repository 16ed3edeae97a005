"""Build the wheel and the sdist, and install the wheel where nothing of the checkout can be found."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from tests.support.repository import ROOT, clean_environment


def checked(*command: str, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run `command` in `folder`; returns its stdout, fails with all its output."""
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment or clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def copy_of_the_checkout(target: Path) -> Path:
    """What a fresh clone with the present changes would hold: tracked and new files, nothing ignored."""
    listed = checked("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder=ROOT)
    for name in filter(None, listed.split("\0")):
        source, copy = ROOT / name, target / name
        if source.exists():  # a tracked file may be deleted in the working tree
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    return target


def build(source: Path, target: Path, *options: str) -> Path:
    """Build with the tools of the running environment (no network); returns the newest file made."""
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(target),
        *options,
        str(source),
    ]
    checked(*command, folder=target)
    return max(target.iterdir(), key=lambda file: file.stat().st_mtime_ns)


def contents(wheel: Path) -> dict[str, bytes]:
    """Each file of `wheel` with its bytes, but for the list of them, whose order is free."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def clean_install(wheel: Path, folder: Path) -> Path:
    """A new virtual environment with `wheel`; returns its folder of programs.

    It borrows the dependencies of the running environment, since compiling them again would take minutes.
    A path file adds one folder and reads no path files in it, so the checkout, which is installed there by
    such a file, stays unseen.
    """
    checked(sys.executable, "-m", "venv", "--without-pip", str(folder), folder=folder.parent)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
    checked(*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel), folder=folder.parent)
    site = checked(
        str(programs / "python"),
        "-c",
        "import sysconfig; print(sysconfig.get_path('purelib'))",
        folder=folder,
    ).strip()
    (Path(site) / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return programs
