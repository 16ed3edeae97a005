"""The file that keeps what was learned of one workspace. docs/learning.md describes it to the byte.

It is replaced as a whole, so that whoever reads it, or a crash, finds the old one or the new one. Each
document's text is compressed by itself: a document that is left out of the next file has left no trace there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack

from velospec.learning.workspace.documents import Document

MAGIC = b"VELOSPEC-LEARNED-"
SCHEMA = 1
SUFFIX = ".learned"
ASIDE = ".set-aside"
"""What is added to the name of a file that cannot be used."""

_SUM = 32  # bytes of a SHA-256


class UnusableError(Exception):
    """The file is torn, foreign or of a newer version; the message says which."""


@dataclass(slots=True)
class Stored:
    """What a file holds; `Workspace` explains the fields."""

    name: str
    documents: list[Document] = field(default_factory=list)
    forgotten: dict[str, float] = field(default_factory=dict)
    receptions: dict[str, int] = field(default_factory=dict)


def path_of(folder: Path, workspace: str) -> Path:
    """The file of that workspace."""
    return folder / (hashlib.sha256(workspace.encode("utf-8", "replace")).hexdigest()[:32] + SUFFIX)


class WorkspaceFile:
    """The file of one workspace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packed: dict[
            str, tuple[Document, bytes]
        ] = {}  # of what was written last, to spare doing it again

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file against other processes; waits for them."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def stamp(self) -> tuple[int, int, int] | None:
        """Changes when the file is replaced; None where there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> Stored | None:
        """What the file holds; None where there is none. Raises UnusableError."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnusableError(f"it cannot be read: {error.strerror}") from error
        return _decode(data)

    def write(self, stored: Stored) -> None:
        """Replace the file, while it is locked. Raises OSError, and the old file is as it was."""
        body = msgpack.packb(
            {
                "workspace": stored.name,
                "documents": [_row(document) for document in stored.documents],
                "forgotten": stored.forgotten,
                "receptions": stored.receptions,
            }
        )
        draft = self.path.with_suffix(".new")  # one for all: the lock is held
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(b"%s%d\n" % (MAGIC, SCHEMA))
                file.write(hashlib.sha256(body).digest())
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
            _sync_folder(self.path.parent)
        finally:
            draft.unlink(missing_ok=True)

    def set_aside(self) -> None:
        """Put an unusable file out of the way, in the place of an earlier one."""
        self.path.replace(self.path.with_suffix(ASIDE))

    def drop_aside(self) -> None:
        """Delete what was set aside: what cannot be read cannot be forgotten in part."""
        self.path.with_suffix(ASIDE).unlink(missing_ok=True)


def _row(document: Document) -> list[Any]:
    return [
        document.name,
        document.path,
        document.version,
        document.relevance,
        document.learned,
        document.size,
        document.packed,
    ]


def _decode(data: bytes) -> Stored:
    head, _, rest = data.partition(b"\n")
    if not head.startswith(MAGIC) or not head[len(MAGIC) :].isdigit():
        raise UnusableError("it is no file of VeloSpec's")
    if int(head[len(MAGIC) :]) != SCHEMA:
        raise UnusableError("another version of VeloSpec wrote it")
    body = rest[_SUM:]
    if hashlib.sha256(body).digest() != rest[:_SUM]:
        raise UnusableError("it is damaged")
    try:
        value = msgpack.unpackb(body)
        documents = [
            Document(
                name, bytes(packed), path=path, version=version, relevance=relevance, learned=at, size=size
            )
            for name, path, version, relevance, at, size, packed in value["documents"]
        ]
        return Stored(value["workspace"], documents, value["forgotten"], value["receptions"])
    except (ValueError, KeyError, TypeError, msgpack.UnpackException) as error:
        raise UnusableError(f"it is not as it should be ({type(error).__name__})") from error


def _sync_folder(folder: Path) -> None:
    """Have the new name of a file on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
