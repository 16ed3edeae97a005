"""The daemon's event loop: connections, idle exit, watchdog beat, clean end.

Knows sessions and the pool; knows nothing of how engines work or who started the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import psutil

from velospec.daemon import protocol as p
from velospec.daemon.endpoint import listen
from velospec.daemon.learning import Done, LearningDesk
from velospec.daemon.pool import ModelPool, Models, PoolHooks, default_budget
from velospec.daemon.session import Session
from velospec.learning.workspace.library import Workspaces

if TYPE_CHECKING:
    from velospec.daemon.endpoint import Endpoint
    from velospec.daemon.exit_record import Phase
    from velospec.daemon.jobs import Job
    from velospec.daemon.learning_frames import LearningRequest
    from velospec.daemon.options import DaemonOptions
    from velospec.daemon.served_engine import OpenEngine

log = logging.getLogger(__name__)

Report = Callable[..., None]
"""Tells the supervisor, by keyword: listening, phase and model, beat, hung. Called from any thread."""

_BEAT = 1.0  # seconds


class DaemonServer:
    """Serves one endpoint until told to leave, or idle for long enough."""

    def __init__(
        self,
        options: DaemonOptions,
        endpoint: Endpoint,
        models: Models,
        open_engine: OpenEngine,
        report: Report,
        *,
        workspaces: Workspaces | None = None,
    ) -> None:
        """`report` reaches the supervisor; `workspaces` are those that the engines draft from."""
        self.build = options.build
        self.token = ""
        self._options = options
        self._endpoint = endpoint
        self._models = models
        self._open = open_engine
        self._report = report
        self._workspaces = workspaces or Workspaces()
        self._desk = LearningDesk(self._workspaces, self._on_taught)
        self._sessions: dict[int, Session] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = iter(range(1, 1 << 62))
        self._started = time.monotonic()
        self._lonely_since: float | None = time.monotonic()
        self._quiet_since = time.monotonic()
        self._leaving = asyncio.Event()

    async def run(self) -> None:
        """Listen and serve. Returns when the daemon is to end; cancels what is under way."""
        loop = asyncio.get_running_loop()
        hooks = PoolHooks(_post_to(loop), self._broadcast, self._on_phase, self._on_change)
        budget = self._options.memory_budget or default_budget()
        self._pool = ModelPool(self._models, self._open, budget, hooks)
        server, self.token = await listen(self._endpoint, self._accept)
        self._report(listening=True)
        log.info("build %s listens, %d MiB for models", self.build, budget >> 20)
        beat = asyncio.create_task(self._beat())
        keep = asyncio.create_task(self._desk.keep(self._options.flush_seconds, self._tell))
        try:
            await self._leaving.wait()
        finally:
            beat.cancel()
            keep.cancel()
            server.close()
            self._pool.abort()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(keep, *self._tasks, return_exceptions=True)
            await asyncio.to_thread(self._workspaces.flush)

    def join_workers(self, timeout: float) -> bool:
        """After `run`: wait up to `timeout` seconds for the models to be freed; whether they all were."""
        until = time.monotonic() + timeout
        return all(worker.join(max(until - time.monotonic(), 0)) for worker in self._pool.workers)

    def retire(self, reason: str) -> None:
        """Say goodbye to all clients and leave."""
        if not self._leaving.is_set():
            log.info("leaves: %s", reason)
            self._broadcast(p.Goodbye(reason))
            self._leaving.set()

    # What sessions need.

    @property
    def busy(self) -> bool:
        return self._pool.working

    def joined(self, session: Session) -> None:
        self._sessions[session.number] = session
        self._lonely_since = None

    def left(self, session: Session) -> None:
        if self._sessions.pop(session.number, None) and not self._sessions:
            self._lonely_since = time.monotonic()

    def submit(self, job: Job, model: str | None) -> None:
        self._pool.submit(job, model)

    def cancel(self, job: Job) -> None:
        self._pool.cancel(job)

    def unload(self, model: str, done: Callable[[], None]) -> None:
        self._pool.unload(model, done)

    def learning(self, frame: LearningRequest, done: Done) -> None:
        self._desk.answer(frame, done)

    def status(self) -> dict[str, Any]:
        """The state of the daemon; times in seconds, sizes in bytes."""
        return {
            "build": self.build,
            "protocol": p.PROTOCOL,
            "pid": os.getpid(),
            "uptime": round(time.monotonic() - self._started, 1),
            "socket": str(self._endpoint.address_file),
            "resident_bytes": psutil.Process().memory_info().rss,
            "clients": [{"name": each.client, "pid": each.pid} for each in self._sessions.values()],
            "models": self._pool.status(),
        }

    # Inside.

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, next(self._numbers), writer)
        task = asyncio.get_running_loop().create_task(session.run(reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _broadcast(self, frame: p.Event | p.Goodbye) -> None:
        for session in list(self._sessions.values()):
            session.send(frame)

    def _on_phase(self, phase: Phase, model: str) -> None:
        self._report(phase=str(phase), model=model)

    def _tell(self, message: str) -> None:
        self._broadcast(p.Event(p.EventKind.MESSAGE, message))

    def _on_taught(self) -> None:
        self._pool.study()

    def _on_change(self) -> None:
        self._quiet_since = time.monotonic()

    async def _beat(self) -> None:
        """Once a second or more often: tell the supervisor that we live, and look what time has brought."""
        interval = min(_BEAT, self._options.idle_seconds or _BEAT, self._options.hang_seconds / 4)
        while True:
            await asyncio.sleep(interval)
            self._look_around()

    def _look_around(self) -> None:
        now = time.monotonic()
        hung = self._pool.stuck(self._options.hang_seconds)
        self._report(**({"hung": hung} if hung else {"beat": 1}))
        if not self._endpoint.address_file.exists():
            self.retire("its socket was removed")
        if self._lonely_since is not None and not self.busy:
            if now - self._lonely_since >= self._options.idle_seconds:
                self.retire("idle")
        elif self._options.measure_after >= 0:
            self._pool.measure_in_pause(now - self._quiet_since, self._options.measure_after)


def _post_to(loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
    def post(call: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(call)
        except RuntimeError:
            log.debug("a worker was still at work when the loop ended")

    return post
