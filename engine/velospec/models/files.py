"""Files on the disk: sums, atomic JSON, free space, and one lock for all installations."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from velospec.core.errors import InstallError
from velospec.core.file_lock import lock_file
from velospec.models.progress import Progress, silent

_CHUNK = 1 << 20


def hash_file(path: Path, progress: Progress = silent) -> str:
    """The SHA-256 of a file, hexadecimal."""
    with path.open("rb") as source:
        return copy_stream(source, None, path.stat().st_size, f"Checking {path.name}", progress)


def copy_stream(
    source: IO[bytes], target: IO[bytes] | None, size: int, label: str, progress: Progress = silent
) -> str:
    """Copy all of `source` (to nowhere if `target` is None) and return its SHA-256."""
    digest, done = hashlib.sha256(), 0
    progress(label, 0, size)
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
        done += len(chunk)
        progress(label, done, size)
    return digest.hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write `value` so that a reader, or a crash, sees the old file or the new one and nothing between."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            json.dump(value, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def require_space(folder: Path, size: int) -> None:
    """Raise InstallError unless the disk of `folder` has `size` bytes free, and some to spare."""
    free = shutil.disk_usage(folder).free
    wanted = size + size // 50 + (16 << 20)
    if free < wanted:
        raise InstallError(
            f"The disk is too full: {in_words(wanted)} are needed in {folder}, {in_words(free)} are free.",
            "Free some space, or let VELOSPEC_HOME name a folder on another disk.",
        )


@contextlib.contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into an InstallError that says so.

    An error that names no file and is none of the disk's (a network's, say) passes.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise InstallError(
                f"The disk filled up while writing to {folder} ({error.strerror}). Nothing was changed.",
                "Free some space, or let VELOSPEC_HOME name a folder on another disk.",
            ) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise InstallError(
                f"{error.filename or folder} cannot be written ({error.strerror}).",
                "Give yourself the right to write there, or let VELOSPEC_HOME name another folder.",
            ) from error
        if error.filename is not None:
            raise InstallError(
                f"{error.filename} cannot be used ({error.strerror}).",
                "See what is there, or let VELOSPEC_HOME name another folder.",
            ) from error
        raise


@contextlib.contextmanager
def install_lock(folder: Path) -> Iterator[None]:
    """Hold the one lock of all installations into `folder`; the system drops it if the process dies.

    Raises InstallError at once if another installation holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:
        try:
            lock_file(file.fileno())
        except OSError as error:
            raise InstallError(
                "Another installation of a model is under way.", "Wait until it has ended, then try again."
            ) from error
        yield


def in_words(size: int) -> str:
    """A size in bytes as a person reads it."""
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
