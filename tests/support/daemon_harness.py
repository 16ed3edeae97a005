"""What the tests of the daemon share: a home of their own, a server in the test's process, raw frames."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.scripted_engine import Script, ScriptedModels, scripted_model
from velospec.core.errors import VeloSpecError
from velospec.core.request import InfillRequest
from velospec.daemon import protocol as p
from velospec.daemon.client import DaemonClient
from velospec.daemon.endpoint import Endpoint
from velospec.daemon.launcher import Launcher
from velospec.daemon.options import DaemonOptions
from velospec.daemon.server import DaemonServer

BUILD = "1.0.0+1"


@contextmanager
def short_home() -> Iterator[Path]:
    """A folder whose path is short enough for a socket, as pytest's own are not always."""
    folder = Path(tempfile.mkdtemp(prefix="vs-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ask(prompt: str, document: str = "doc", *, background: bool = False) -> InfillRequest:
    return InfillRequest(document, prompt, "", background=background)


class Served:
    """A daemon's server in this process, with a scripted engine."""

    def __init__(self, server: DaemonServer, endpoint: Endpoint, script: Script) -> None:
        self.server = server
        self.endpoint = endpoint
        self.script = script
        self.news: list[dict[str, Any]] = []  # what the supervisor would be told

    def client(self, name: str = "test", **settings: Any) -> DaemonClient:
        settings = {"build": BUILD, "start": False, **settings}
        options = DaemonOptions(build=BUILD, transport=self.endpoint.transport)
        return DaemonClient(name, launcher=Launcher(options=options), **settings)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds; the test fails if it does not within ten seconds."""
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - what is waited for happens in other threads
                await asyncio.sleep(0.001)


@asynccontextmanager
async def served(*models: Any, script: Script | None = None, **options: Any) -> AsyncIterator[Served]:
    """Serve `models` (by default one called small) at the endpoint of the current home."""
    script = script or Script()
    settings = DaemonOptions(**{"build": BUILD, "measure_after": -1.0, **options})
    endpoint = Endpoint.named(settings.name, settings.transport)
    endpoint.prepare()
    store = ScriptedModels(*(models or (scripted_model("small"),)))
    news: list[dict[str, Any]] = []
    server = DaemonServer(settings, endpoint, store, script.open, lambda **told: news.append(told))
    task = asyncio.create_task(server.run())
    box = Served(server, endpoint, script)
    box.news = news
    await box.until(lambda: {"listening": True} in news or task.done())
    try:
        yield box
    finally:
        server.retire("the test is over")
        await task
        for gate in list(script.gates.values()):
            gate.set()
        assert await asyncio.to_thread(server.join_workers, 10)


class Wire:
    """A raw connection, to send what no client would."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, frame: p.Frame | bytes) -> None:
        self._writer.write(frame if isinstance(frame, bytes) else p.encode(frame))

    async def receive(self) -> p.Frame | None:
        async with asyncio.timeout(10):
            body = await p.read_body(self._reader)
        return p.decode(body) if body is not None else None


@asynccontextmanager
async def wire(endpoint: Endpoint, hello: p.Hello | None = None) -> AsyncIterator[Wire]:
    """Connect without saying hello, or with `hello`, whose welcome has been read."""
    reader, writer = await asyncio.open_unix_connection(endpoint.address_file)
    raw = Wire(reader, writer)
    try:
        if hello:
            raw.send(hello)
            assert isinstance(await raw.receive(), p.Welcome)
        yield raw
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def outcome(request: Coroutine[Any, Any, Any]) -> str:
    """The text of a completion, or the code of the error."""
    try:
        return str((await request).text)
    except VeloSpecError as error:
        return error.code


async def arrived(client: DaemonClient) -> dict[str, Any]:
    """The status, asked for behind what the client's other tasks have to send: all of that is queued now."""
    await asyncio.sleep(0)
    return await client.status()
