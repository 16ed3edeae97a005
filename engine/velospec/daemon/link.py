"""The client's side of one connection: hello, frames out, answers matched to their requests by id.

Lives as long as the connection. Knows nothing of starting or restarting daemons.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from velospec.core.errors import ERRORS, DaemonError, ProtocolError, VeloSpecError
from velospec.daemon import protocol as p
from velospec.daemon.endpoint import connect

if TYPE_CHECKING:
    from velospec.daemon.endpoint import Endpoint, Streams

log = logging.getLogger(__name__)

_HELLO_SECONDS = 10.0


@dataclass(slots=True)
class _Pending:
    answer: asyncio.Future[Any]
    on_text: Callable[[str], None] | None


class Link:
    """An accepted connection. `on_lost(link)` is called once when it ends without being closed by us."""

    def __init__(
        self,
        streams: Streams,
        welcome: p.Welcome,
        on_event: Callable[[p.Event], None],
        on_lost: Callable[[Link], None],
    ) -> None:
        self.welcome = welcome
        self.goodbye: str | None = None  # the daemon's reason to leave, if it gave one
        self._reader, self._writer = streams
        self._on_event = on_event
        self._on_lost = on_lost
        self._pending: dict[int, _Pending] = {}
        self._numbers = itertools.count(1)
        self._task = asyncio.create_task(self._read())

    @property
    def alive(self) -> bool:
        return not self._task.done() and self.goodbye is None

    async def ask(self, frame: p.Request, on_text: Callable[[str], None] | None = None) -> Any:
        """Send `frame` under an id of our own and wait for its result.

        Raises the VeloSpecError that the daemon answers with, or that `fail` sets. Cancelling the waiting
        task cancels the request in the daemon.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        packed = p.encode(replace(frame, id=number))
        if not self.alive:
            raise DaemonError("The daemon went away.")
        self._pending[number] = _Pending(answer, on_text)
        try:
            self._writer.write(packed)
            return await answer
        except asyncio.CancelledError:
            if self.alive:
                self._writer.write(p.encode(p.Cancel(number)))
            raise
        finally:
            self._pending.pop(number, None)

    def fail(self, error: VeloSpecError) -> int:
        """End all waiting requests with `error`; how many there were."""
        waiting = [each.answer for each in self._pending.values() if not each.answer.done()]
        for answer in waiting:
            answer.set_exception(type(error)(error.cause, error.remedy))
        return len(waiting)

    async def close(self) -> None:
        """Leave; waiting requests fail."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.fail(DaemonError("The client was closed."))
        await _close(self._writer)

    async def _read(self) -> None:
        try:
            while (body := await p.read_body(self._reader)) is not None:
                self._handle(p.decode(body))
        except ProtocolError as error:
            log.warning("the daemon sent an unreadable frame: %s", error)
        self._writer.close()
        self._on_lost(self)

    def _handle(self, frame: p.Frame) -> None:
        if isinstance(frame, p.Event):
            try:
                self._on_event(frame)
            except Exception:  # a listener's fault must not end the connection
                log.exception("a listener of the daemon's events failed")
        elif isinstance(frame, p.Goodbye):
            self.goodbye = frame.reason
            self.fail(DaemonError(f"The daemon left: {frame.reason}."))
        elif isinstance(frame, p.Text | p.Result | p.Failure):
            self._answer(frame)

    def _answer(self, frame: p.Text | p.Result | p.Failure) -> None:
        pending = self._pending.get(frame.id) if frame.id is not None else None
        if pending is None or pending.answer.done():
            return  # cancelled meanwhile
        if isinstance(frame, p.Text):
            _hand_over(pending, frame.text)
        elif isinstance(frame, p.Result):
            pending.answer.set_result(frame.value)
        else:
            kind = ERRORS.get(frame.code, VeloSpecError)
            pending.answer.set_exception(kind(frame.cause, frame.remedy))


def _hand_over(pending: _Pending, text: str) -> None:
    try:
        if pending.on_text:
            pending.on_text(text)
    except Exception as error:  # noqa: BLE001 - the fault of who asked, and told to them
        pending.answer.set_exception(error)


async def greet(endpoint: Endpoint, hello: p.Hello) -> tuple[Streams, p.Welcome] | None:
    """Connect and exchange hellos; None if nobody is there, or it left before it answered.

    The caller closes the streams. Raises DaemonError if what listens there does not answer as a daemon.
    """
    found = await connect(endpoint)
    if found is None:
        return None
    (reader, writer), token = found
    welcome: p.Welcome | None = None
    try:
        writer.write(p.encode(replace(hello, token=token)))
        async with asyncio.timeout(_HELLO_SECONDS):
            body = await p.read_body(reader, p.MAX_HELLO)
        welcome = _welcome(body) if body is not None else None
    except (TimeoutError, ProtocolError) as error:
        raise DaemonError(
            f"The daemon at {endpoint.address_file} does not answer as it should ({error or 'no answer'}).",
            "End it with `velospec daemon stop --force`.",
        ) from error
    finally:
        if welcome is None:
            writer.close()
    return ((reader, writer), welcome) if welcome else None


def _welcome(body: bytes) -> p.Welcome:
    frame = p.decode(body)
    if not isinstance(frame, p.Welcome):
        raise ProtocolError("The first frame of the daemon should be a welcome.")
    return frame


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except ConnectionError:
        return  # the daemon was quicker


def our_hello(client: str, build: str) -> p.Hello:
    """The hello of this process."""
    return p.Hello(p.PROTOCOL, build, client, os.getpid())
