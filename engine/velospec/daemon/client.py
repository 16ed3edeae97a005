"""Talks to the daemon for an editor's server or a command, starting and restarting it as needed.

A crash of the daemon becomes one event and an error for the requests that were under way; the client
restarts the daemon with growing pauses. Imports no engine: a client stays light.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

from velospec.core.errors import DaemonError, VeloSpecError
from velospec.core.request import Completion, InfillRequest, TextRequest
from velospec.daemon import protocol as p
from velospec.daemon.build import current_build
from velospec.daemon.codec import from_plain
from velospec.daemon.endpoint import Endpoint
from velospec.daemon.exit_record import explain
from velospec.daemon.launcher import Launcher
from velospec.daemon.link import Link, greet, our_hello
from velospec.daemon.loss import how_it_ended, lives
from velospec.daemon.running import stop_daemons
from velospec.daemon.teaching import Teaching

T = TypeVar("T")
OnText = Callable[[str], None]
Event, EventKind = p.Event, p.EventKind

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds between a crash and the restart


class DaemonClient(Teaching):
    """A connection to the daemon that outlives daemons. For one event loop.

    What it can say about workspaces is in `teaching`.

    `on_event` gets the daemon's news and the client's own (crashed, restarted), in the loop's thread.
    With `start` False the client uses a daemon that runs, and raises DaemonError where none does.
    """

    def __init__(
        self,
        name: str = "velospec",
        *,
        on_event: Callable[[p.Event], None] | None = None,
        start: bool = True,
        build: str | None = None,
        launcher: Launcher | None = None,
    ) -> None:
        """`name` is shown by `velospec status`; `build` None means this installation's."""
        self._hello = our_hello(name, build or current_build())
        self._on_event = on_event or (lambda _event: None)
        self._start = start
        self._launcher = launcher or Launcher()
        self._link: Link | None = None
        self._connecting = asyncio.Lock()
        self._outage: VeloSpecError | None = None  # why the daemon was lost, until it has answered again
        self._pause = _FIRST_PAUSE
        self._retry_at = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def infill(
        self, request: InfillRequest, *, model: str | None = None, on_text: OnText | None = None
    ) -> Completion:
        """Complete at a cursor, by `model` or the default for completion; `on_text` gets it in pieces."""
        answer = await self._ask(p.Infill(0, request, model, stream=on_text is not None), on_text)
        return _completion(answer)

    async def generate(
        self, request: TextRequest, *, model: str | None = None, on_text: OnText | None = None
    ) -> Completion:
        """Continue a text, by `model` or the default for chat (where there is none, for completion)."""
        answer = await self._ask(p.Generate(0, request, model, stream=on_text is not None), on_text)
        return _completion(answer)

    async def status(self) -> dict[str, Any]:
        """The state of the daemon, see `DaemonServer.status`."""
        return dict(await self._ask(p.Status(0)))

    async def load(self, model: str | None = None) -> None:
        """Have a model in memory; returns when it is."""
        await self._ask(p.Load(0, model))

    async def unload(self, model: str) -> None:
        """Have a model leave memory; returns when it has. Raises DaemonError if it is in use."""
        await self._ask(p.Unload(0, model))

    async def measure(self, model: str | None = None) -> dict[str, Any]:
        """Measure a model's speed and numerics anew and keep them; returns the profile."""
        return dict(await self._ask(p.Measure(0, model)))

    async def stop(self) -> int:
        """Have the user's daemons leave, and wait until they have; how many they were. Never starts one."""
        return await stop_daemons()

    async def close(self) -> None:
        """Leave the daemon; requests under way fail with DaemonError."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._link:
            await self._link.close()
            self._link = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, frame: p.Request, on_text: OnText | None = None) -> Any:
        link = await self._connected()
        answer = await link.ask(frame, on_text)
        if isinstance(frame, p.Infill | p.Generate):  # the rest works without the native code that crashes
            self._pause, self._outage = _FIRST_PAUSE, None
        return answer

    # Finding, starting and restarting.

    def _endpoints(self) -> list[Endpoint]:
        """Where to look: first beside an older daemon, then where daemons usually are."""
        settings = self._launcher.settings()
        digest = hashlib.sha256(self._hello.build.encode()).hexdigest()[:8]
        names = (f"{settings.name}-{digest}", settings.name)
        return [Endpoint.named(name, settings.transport) for name in names]

    async def _connected(self) -> Link:
        """The living connection. Raises VeloSpecError, at once while the pause after a crash lasts."""
        async with self._connecting:
            if self._link and self._link.alive:
                return self._link
            if self._closed:
                raise DaemonError("The client was closed.")
            wait = self._retry_at - time.monotonic()
            if self._outage and wait > 0:
                raise type(self._outage)(
                    self._outage.cause, f"It is started again in {wait:.1f} s. {self._outage.remedy}".strip()
                )
            try:
                link = await self._attach(start=self._start)
            except VeloSpecError as error:
                self._note_outage(error)
                raise
            if link is None:
                raise DaemonError("The daemon is not running.", "Start it: `velospec daemon start`.")
            self._link = link
            return link

    async def _attach(self, *, start: bool) -> Link | None:
        """A connection to a daemon of ours, started if need be and if `start`; else None."""
        beside, usual = self._endpoints()
        for _ in range(3):  # a daemon may leave between being found and being asked
            place = usual
            for endpoint in (beside, usual):
                met = await greet(endpoint, self._hello)
                if met is None:
                    continue
                streams, welcome = met
                if welcome.verdict is p.Verdict.ACCEPTED:
                    return Link(streams, welcome, self._on_event, self._lost)
                streams[1].close()
                if welcome.verdict is p.Verdict.DENIED:
                    raise DaemonError("The daemon did not accept our token.", "Stop it and try again.")
                if welcome.verdict is not p.Verdict.RETIRING and endpoint == usual:
                    place = beside
            if not start:
                return None
            await asyncio.to_thread(self._launcher.start, place, self._hello.build)
        raise DaemonError("The daemon leaves as soon as it is started.", "See `velospec daemon log`.")

    def _lost(self, link: Link) -> None:
        """The connection ended: find out why, fail what was under way, restart after a crash."""
        task = asyncio.get_running_loop().create_task(self._after_loss(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _after_loss(self, link: Link) -> None:
        if self._link is link:
            self._link = None
        if link.goodbye is not None:
            return
        record = await how_it_ended(self._endpoints(), link.welcome.pid)
        if record is None and lives(link.welcome.pid):
            link.fail(DaemonError("The connection to the daemon was lost."))
            return
        error = explain(record)
        told = self._outage is not None
        self._note_outage(error)
        link.fail(error)
        if not told:
            self._on_event(p.Event(p.EventKind.CRASHED, str(error)))
        if self._start:
            await self._restart(told=told)

    async def _restart(self, *, told: bool) -> None:
        while not self._closed:
            await asyncio.sleep(max(self._retry_at - time.monotonic(), 0))
            try:
                await self._connected()
            except VeloSpecError:
                continue  # noted, with a longer pause, and told to those who ask
            if not told:
                self._on_event(p.Event(p.EventKind.RESTARTED, "The daemon runs again."))
            return

    def _note_outage(self, error: VeloSpecError) -> None:
        self._outage = error
        self._retry_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)


def run_sync(work: Callable[[DaemonClient], Awaitable[T]], **settings: Any) -> T:
    """Run `work` with a client of its own, for commands; `settings` are those of DaemonClient."""

    async def run() -> T:
        async with DaemonClient(**settings) as client:
            return await work(client)

    return asyncio.run(run())


def _completion(value: object) -> Completion:
    return from_plain(Completion, value)
