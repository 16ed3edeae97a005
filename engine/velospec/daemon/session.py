"""The daemon's side of one connection: reads frames, turns them into jobs, writes the answers.

Whatever bytes come, the worst is that this connection ends. Knows nothing of models or memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
from collections.abc import Callable
from typing import Any, Protocol

from velospec.core.errors import ProtocolError, VeloSpecError
from velospec.daemon import protocol as p
from velospec.daemon.build import newer
from velospec.daemon.jobs import Job, Task
from velospec.daemon.learning_frames import LearningRequest

log = logging.getLogger(__name__)

HELLO_SECONDS = 10.0
MAX_UNREAD = 8 << 20  # bytes that a client may leave unread before it is dropped
MAX_PENDING = 256  # requests of one client at a time


Done = Callable[[Any, VeloSpecError | None], None]

_TASKS = {p.Infill: Task.INFILL, p.Generate: Task.GENERATE, p.Load: Task.LOAD, p.Measure: Task.MEASURE}


class Host(Protocol):
    """What a session needs of the server."""

    build: str
    token: str

    @property
    def busy(self) -> bool: ...
    def joined(self, session: Session) -> None: ...
    def left(self, session: Session) -> None: ...
    def submit(self, job: Job, model: str | None) -> None: ...
    def cancel(self, job: Job) -> None: ...
    def unload(self, model: str, done: Callable[[], None]) -> None: ...
    def learning(self, frame: LearningRequest, done: Done) -> None: ...
    def status(self) -> dict[str, Any]: ...
    def retire(self, reason: str) -> None: ...


class Session:
    """One client. `number` tells clients apart."""

    def __init__(self, host: Host, number: int, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self.client = ""
        self.pid = 0
        self._watches = False  # it only looks: does not count as a client, gets no events
        self._host = host
        self._writer = writer
        self._jobs: dict[int, Job] = {}

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Serve the connection until either side ends it."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                accepted = await self._greet(reader)
            if accepted:
                if not self._watches:
                    self._host.joined(self)
                await self._serve(reader)
        except ProtocolError as error:
            self.send(p.Failure(error.code, error.cause))
        except (TimeoutError, ConnectionError):
            pass  # a peer that says nothing or went away gets no answer
        finally:
            for job in list(self._jobs.values()):
                self._host.cancel(job)
            self._host.left(self)
            await self._close()

    def send(self, frame: p.Frame) -> None:
        """Write a frame; a client that does not read is dropped."""
        if self._writer.is_closing():
            return
        self._writer.write(p.encode(frame))
        if self._writer.transport.get_write_buffer_size() > MAX_UNREAD:
            log.info("client %d does not read; dropped", self.number)
            self._writer.transport.abort()

    async def _greet(self, reader: asyncio.StreamReader) -> bool:
        body = await p.read_body(reader, p.MAX_HELLO)
        if body is None:
            return False
        hello = p.decode(body)
        if not isinstance(hello, p.Hello):
            raise ProtocolError("The first frame should be a hello.")
        verdict = self._judge(hello)
        self.send(p.Welcome(p.PROTOCOL, self._host.build, os.getpid(), verdict))
        if verdict is p.Verdict.RETIRING:
            self._host.retire(f"replaced by build {hello.build}")
        if verdict is not p.Verdict.ACCEPTED:
            return False
        self.client, self.pid = hello.client[:64], hello.pid
        self._watches = hello.build == p.ANY_BUILD
        return True

    def _judge(self, hello: p.Hello) -> p.Verdict:
        if not hmac.compare_digest(hello.token.encode("utf-8", "replace"), self._host.token.encode()):
            return p.Verdict.DENIED
        if newer(hello.build, self._host.build):
            return p.Verdict.BUSY if self._host.busy else p.Verdict.RETIRING
        return p.Verdict.ACCEPTED if hello.protocol == p.PROTOCOL else p.Verdict.INCOMPATIBLE

    async def _serve(self, reader: asyncio.StreamReader) -> None:
        while (body := await p.read_body(reader)) is not None:
            try:
                frame = p.decode(body)
            except ProtocolError as error:
                self.send(p.Failure(error.code, error.cause, id=p.frame_id(body)))
                continue
            self._handle(frame)

    def _handle(self, frame: p.Frame) -> None:
        if isinstance(frame, p.Cancel):
            job = self._jobs.get(frame.id)
            if job:
                self._host.cancel(job)
            return
        if not isinstance(frame, p.Request):
            self.send(p.Failure(ProtocolError.code, "A client does not send such frames."))
            return
        try:
            self._start(frame)
        except VeloSpecError as error:
            self._jobs.pop(frame.id, None)
            self.send(p.Failure(error.code, error.cause, error.remedy, frame.id))

    def _start(self, frame: p.Request) -> None:
        if frame.id in self._jobs:
            raise ProtocolError("A request with this id is under way.")
        if len(self._jobs) >= MAX_PENDING:
            raise ProtocolError(f"More than {MAX_PENDING} requests are under way.")
        match frame:
            case p.Status():
                self.send(p.Result(frame.id, self._host.status()))
            case p.Unload():
                self._host.unload(frame.model, lambda: self.send(p.Result(frame.id)))
            case p.Stop():
                self.send(p.Result(frame.id))
                self._host.retire("asked to stop")
            case p.Infill() | p.Generate() | p.Load() | p.Measure():
                self._submit(frame)
            case _:
                self._host.learning(frame, self._answer_to(frame.id))

    def _submit(self, frame: p.Infill | p.Generate | p.Load | p.Measure) -> None:
        def on_text(text: str) -> None:
            self.send(p.Text(frame.id, text))

        job = Job(self.number, _TASKS[type(frame)], self._answer_to(frame.id))
        if isinstance(frame, p.Infill | p.Generate):
            job.request = frame.request
            job.on_text = on_text if frame.stream else None
        if isinstance(frame, p.Infill):
            job.background = frame.request.background
        self._jobs[frame.id] = job
        self._host.submit(job, frame.model)

    def _answer_to(self, number: int) -> Done:
        """What sends the answer to the request of that id."""

        def done(value: Any, error: VeloSpecError | None) -> None:
            self._jobs.pop(number, None)
            if error:
                self.send(p.Failure(error.code, error.cause, error.remedy, number))
            else:
                self.send(p.Result(number, value))

        return done

    async def _close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):  # the peer was quicker
            await self._writer.wait_closed()
