"""What the tests of the daemon's processes share: clients whose daemon has scripted engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.support.scripted_daemon import COMMAND
from velospec.core.errors import DaemonError
from velospec.daemon import protocol as p
from velospec.daemon.client import DaemonClient
from velospec.daemon.launcher import Launcher
from velospec.daemon.options import DaemonOptions

BUILD = "1.0.0+1"


def client(name: str = "test", *, command: tuple[str, ...] = COMMAND, **settings: Any) -> DaemonClient:
    """A client whose daemon has scripted engines. `options` are the daemon's."""
    options = {"build": BUILD, "measure_after": -1.0, **settings.pop("options", {})}
    launcher = Launcher(command=command, options=DaemonOptions(**options))
    return DaemonClient(name, launcher=launcher, **{"build": BUILD, **settings})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.005)


async def recovered(work: Callable[[], Awaitable[Any]]) -> tuple[Any, int]:
    """The first answer after a crash, and how many requests failed before it."""
    failures = 0
    async with asyncio.timeout(20):
        while True:
            try:
                return await work(), failures
            except DaemonError:
                failures += 1
                await asyncio.sleep(0.05)


@asynccontextmanager
async def listening(**settings: Any) -> AsyncIterator[tuple[DaemonClient, list[p.Event]]]:
    heard: list[p.Event] = []
    async with client(on_event=heard.append, **settings) as each:
        yield each, heard


def kinds(heard: list[p.Event]) -> list[str]:
    return [each.kind for each in heard if each.kind in {p.EventKind.CRASHED, p.EventKind.RESTARTED}]


def settings(**changes: Any) -> dict[str, Any]:
    command = changes.pop("command", COMMAND)
    options = DaemonOptions(build=BUILD, measure_after=-1.0)
    return {"build": BUILD, "launcher": Launcher(command=command, options=options), **changes}
