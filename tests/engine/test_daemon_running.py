"""Looking at daemons and ending them while they start, leave or hang up."""

from __future__ import annotations

import asyncio
import fcntl
import os

import pytest

from tests.support.daemon_harness import BUILD, served
from velospec.daemon import protocol as p
from velospec.daemon.endpoint import Endpoint, take_lock
from velospec.daemon.running import running_daemons, statuses, stop_daemons

pytestmark = pytest.mark.usefixtures("home")


def held(endpoint: Endpoint) -> int:
    """The lock of a daemon, taken as its supervisor takes it."""
    endpoint.prepare()
    lock = take_lock(endpoint.lock_file)
    assert lock is not None
    return lock


def test_somebody_who_looks_is_not_taken_for_a_daemon() -> None:
    endpoint = Endpoint.named("daemon")
    os.close(held(endpoint))
    looker = take_lock(endpoint.lock_file, fcntl.LOCK_SH)
    assert looker is not None
    assert not endpoint.locked()
    assert running_daemons() == []
    os.close(looker)
    daemon = held(endpoint)
    assert endpoint.locked()
    assert running_daemons() == [endpoint]
    os.close(daemon)


def test_stopping_a_daemon_that_leaves_of_itself_waits_for_its_end() -> None:
    async def test() -> None:
        lock = held(Endpoint.named("daemon"))
        stopping = asyncio.create_task(stop_daemons())
        await asyncio.wait([stopping], timeout=0.1)
        assert not stopping.done()
        os.close(lock)
        assert await stopping == 1

    asyncio.run(test())


def test_stopping_a_daemon_that_starts_is_said_when_it_listens() -> None:
    async def test() -> None:
        lock = held(Endpoint.named("daemon"))
        stopping = asyncio.create_task(stop_daemons())
        await asyncio.wait([stopping], timeout=0.1)
        async with served() as box:
            await box.until(box.server._leaving.is_set)
        os.close(lock)
        assert await stopping == 1

    asyncio.run(test())


@pytest.mark.parametrize("ended", [True, False])
def test_a_daemon_that_hangs_up_instead_of_answering_keeps_nobody_waiting(ended: bool) -> None:
    async def test() -> None:
        endpoint = Endpoint.named("daemon")
        lock = held(endpoint)
        freed = False

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal freed
            assert await p.read_body(reader)
            writer.write(p.encode(p.Welcome(p.PROTOCOL, BUILD, os.getpid(), p.Verdict.ACCEPTED)))
            assert await p.read_body(reader)
            if ended and not freed:
                os.close(lock)
                freed = True
            writer.close()

        async with asyncio.timeout(5), await asyncio.start_unix_server(serve, endpoint.address_file):
            told = [(each["name"], each["error"]) for each in await statuses()]
        assert told == ([] if ended else [("daemon", "The daemon daemon left before it answered.")])
        if not freed:
            os.close(lock)

    asyncio.run(test())
