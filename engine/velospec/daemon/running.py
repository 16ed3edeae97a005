"""The user's running daemons, whatever their builds: what they say of themselves, and how to end them.

Looks without touching: asking for the state neither starts nor retires a daemon.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

from velospec.core import paths
from velospec.core.errors import DaemonError
from velospec.daemon import protocol as p
from velospec.daemon.endpoint import Endpoint
from velospec.daemon.link import Link, greet, our_hello

_LEAVE_SECONDS = 20.0
_ASK_SECONDS = 10.0
_POLL = 0.02


class _AbsentError(DaemonError):
    """The daemon does not listen yet, or does so no more."""


def running_daemons() -> list[Endpoint]:
    """The endpoints whose lock is held. The transport is told by the file that is there."""
    folder = paths.runtime_folder()
    if not folder.is_dir():
        return []
    names = sorted(path.name.removesuffix(".lock") for path in folder.glob("*.lock"))
    found = [
        Endpoint(folder, name, "tcp" if (folder / f"{name}.port").exists() else "unix") for name in names
    ]
    return [endpoint for endpoint in found if endpoint.locked()]


def supervisor_pid(endpoint: Endpoint) -> int | None:
    """The process that holds the lock, as it wrote itself down."""
    try:
        return int(endpoint.lock_file.read_text("ascii"))
    except (OSError, ValueError):
        return None


async def statuses() -> list[dict[str, Any]]:
    """What each running daemon says of itself; for one that does not answer, `name`, `pid` and `error`."""
    found = [await _status(endpoint) for endpoint in running_daemons()]
    return [each for each in found if each]


async def _status(endpoint: Endpoint) -> dict[str, Any]:
    """Empty where the daemon has ended meanwhile."""
    try:
        async with asyncio.timeout(_ASK_SECONDS):
            answer = await _ask(endpoint, p.Status(0))
    except (DaemonError, TimeoutError) as error:
        if not endpoint.locked():
            return {}
        answer = {"error": str(error) or "no answer", "pid": supervisor_pid(endpoint)}
    return {"name": endpoint.name, **answer}


async def stop_daemons(*, force: bool = False) -> int:
    """End the running daemons; how many they were. Raises DaemonError for one that does not end.

    `force` does not ask: it kills.
    """
    endpoints = running_daemons()
    for endpoint in endpoints:
        if force:
            _signal(endpoint, signal.SIGTERM)
            if not await _freed(endpoint, 3.0):
                _signal(endpoint, signal.SIGKILL)
        else:
            await _ask_to_leave(endpoint)
        if not await _freed(endpoint, _LEAVE_SECONDS):
            raise DaemonError(
                f"The daemon {endpoint.name} does not end.", "Use `velospec daemon stop --force`."
            )
    return len(endpoints)


async def _ask_to_leave(endpoint: Endpoint) -> None:
    """Ask once the daemon listens; one that leaves of itself need not hear it. Raises DaemonError."""
    until = time.monotonic() + _LEAVE_SECONDS
    while endpoint.locked():
        try:
            await _ask(endpoint, p.Stop(0))
        except _AbsentError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(_POLL)
        else:
            return


async def _ask(endpoint: Endpoint, frame: p.Request) -> dict[str, Any]:
    met = await greet(endpoint, our_hello("velospec command", p.ANY_BUILD))
    if met is None:
        raise _AbsentError(f"The daemon {endpoint.name} does not listen.", "It may be starting; try again.")
    streams, welcome = met
    if welcome.verdict is not p.Verdict.ACCEPTED:
        streams[1].close()
        raise DaemonError(
            f"The daemon {endpoint.name} of build {welcome.build} speaks another protocol.",
            "End it with `velospec daemon stop --force`.",
        )

    def lost(link: Link) -> None:
        link.fail(_AbsentError(f"The daemon {endpoint.name} left before it answered."))

    link = Link(streams, welcome, lambda _event: None, lost)
    try:
        return dict(await link.ask(frame) or {})
    finally:
        await link.close()


async def _freed(endpoint: Endpoint, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while endpoint.locked():
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_POLL)
    return True


def _signal(endpoint: Endpoint, number: signal.Signals) -> None:
    pid = supervisor_pid(endpoint)
    if pid is not None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return  # it ended meanwhile
