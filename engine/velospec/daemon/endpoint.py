"""Where a daemon is met: its private folder, its socket or loopback port, its lock.

The lock tells whether a daemon runs: it is held as long as its supervisor lives, and freed by the kernel
however that ends. A socket or port file without the lock is stale. Knows nothing of frames or processes.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import secrets
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from velospec.core import paths
from velospec.core.errors import DaemonError

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]

_LONGEST = 107  # bytes of a Unix socket's path on Linux, without the closing zero; macOS has 103
_SHORT_BASE = Path("/tmp")  # noqa: S108 - only as the parent of a private folder whose owner is checked
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The files of the daemon called `name` in the private folder `folder`."""

    folder: Path
    name: str
    transport: str = "unix"

    @classmethod
    def named(cls, name: str, transport: str = "unix") -> Endpoint:
        """The endpoint in the user's runtime folder."""
        return cls(paths.runtime_folder(), name, transport)

    @property
    def lock_file(self) -> Path:
        return self.folder / f"{self.name}.lock"

    @property
    def launch_file(self) -> Path:
        """Held by the client that starts the daemon, so that the others wait instead of starting one too."""
        return self.folder / f"{self.name}.launch"

    @property
    def exit_file(self) -> Path:
        """How the last daemon of this name ended."""
        return self.folder / f"{self.name}.exit"

    @property
    def address_file(self) -> Path:
        """The socket; with a loopback port, the file that holds port and token."""
        if self.transport == "tcp":
            return self.folder / f"{self.name}.port"
        path = self.folder / f"{self.name}.sock"
        if len(os.fsencode(path)) <= _LONGEST:
            return path
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        return _SHORT_BASE / f"velospec-{os.getuid()}-{digest}" / path.name

    def prepare(self) -> None:
        """Make the folders, private to the user. Raises DaemonError that says what is in the way."""
        make_private(self.folder)
        if self.address_file.parent != self.folder:
            make_private(self.address_file.parent)

    def locked(self) -> bool:
        """Whether a daemon of this name runs (or is just starting or ending).

        Looks by a shared lock, so that two who look at once do not take each other for a daemon.
        """
        if not self.lock_file.exists():
            return False
        handle = take_lock(self.lock_file, fcntl.LOCK_SH)
        if handle is None:
            return True
        os.close(handle)
        return False

    def clear(self) -> None:
        """Remove the stale socket or port file. Only for the holder of the lock."""
        self.address_file.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make sure that `folder` exists, is the user's own and open to nobody else. Raises DaemonError."""
    remedy = "Set VELOSPEC_HOME to a folder that you can write to."
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise DaemonError(f"The daemon's folder {folder} belongs to somebody else or is a link.", remedy)
        if status.st_mode & 0o077:
            folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise DaemonError(f"The daemon's folder {folder} cannot be written to.", remedy)
    except OSError as error:
        raise DaemonError(
            f"The daemon's folder {folder} cannot be used: {error.strerror}.", remedy
        ) from error


def take_lock(path: Path, kind: int = fcntl.LOCK_EX) -> int | None:
    """Lock `path` for this process: an open descriptor that holds the lock, or None if somebody else does.

    `kind` is LOCK_EX, or LOCK_SH for a lock that excludes only exclusive ones.

    The descriptor is closed on exec, so that no child keeps the lock. Raises DaemonError.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DaemonError(
            f"The daemon's lock {path} cannot be opened: {error.strerror}.",
            "Set VELOSPEC_HOME to a folder that you can write to.",
        ) from error
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


async def connect(endpoint: Endpoint) -> tuple[Streams, str] | None:
    """The streams to the daemon and the token it wants, or None if none listens there."""
    try:
        if endpoint.transport == "unix":
            return await asyncio.open_unix_connection(endpoint.address_file), ""
        if not await asyncio.to_thread(endpoint.locked):
            return None  # the port may be another program's by now
        address = json.loads(endpoint.address_file.read_text("utf-8"))
        return await asyncio.open_connection("127.0.0.1", int(address["port"])), str(address["token"])
    except (OSError, ValueError, KeyError):
        return None


def reachable(endpoint: Endpoint) -> bool:
    """Whether somebody listens at the endpoint now."""
    try:
        if endpoint.transport == "unix":
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(os.fspath(endpoint.address_file))
            return True
        address = json.loads(endpoint.address_file.read_text("utf-8"))
        with socket.create_connection(("127.0.0.1", int(address["port"])), timeout=1):
            return True
    except (OSError, ValueError, KeyError):
        return False


async def listen(endpoint: Endpoint, accept: Accept) -> tuple[asyncio.Server, str]:
    """Listen at the endpoint; returns the server and the token that a client must show ("" for none).

    The caller holds the lock and has cleared stale files. Raises OSError.
    """
    if endpoint.transport == "unix":
        server = await asyncio.start_unix_server(accept, endpoint.address_file, backlog=_BACKLOG)
        endpoint.address_file.chmod(0o600)
        return server, ""
    token = secrets.token_urlsafe(32)
    server = await asyncio.start_server(accept, "127.0.0.1", 0, backlog=_BACKLOG)
    address = {"port": server.sockets[0].getsockname()[1], "token": token}
    write_private(endpoint.address_file, json.dumps(address))
    return server, token


def write_private(path: Path, text: str) -> None:
    """Replace `path` by a file with `text` that nobody else can read, in one move."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
