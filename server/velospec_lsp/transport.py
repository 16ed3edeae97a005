"""Bytes in and out: stdin and stdout, or a loopback port for debugging.

One thread reads the input whole chunks at a time; messages are handled on the event loop, in order. Stdout is
taken away from everybody else: what any library prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import threading
from typing import Protocol as TypingProtocol

logger = logging.getLogger(__name__)

_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,9})[ \t]*", re.IGNORECASE)
_LARGEST = 256 * 1024 * 1024  # bytes of one message
_CHUNK = 64 * 1024


class Receiver(TypingProtocol):
    """What handles the messages; `exit_code` is set when it wants no more."""

    exit_code: int | None

    def receive(self, body: bytes) -> None: ...

    def end(self, code: int) -> None: ...


class Stdout:
    """The protocol's output. Writes are whole and immediate."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls) -> Stdout:
        """Take stdout over; from here on file descriptor 1 and `print` lead to stderr."""
        sys.stdout.flush()
        own = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  # exists on Windows only

            msvcrt.setmode(own, os.O_BINARY)
        return cls(own)

    def write(self, data: bytes) -> None:
        """Raises OSError when the client has gone."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        os.close(self._descriptor)


def read_descriptor(descriptor: int) -> asyncio.StreamReader:
    """A stream of what arrives at `descriptor`: a pipe, a file or a terminal, on every platform."""
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader(limit=_CHUNK)

    def pump() -> None:
        try:
            while chunk := os.read(descriptor, _CHUNK):
                loop.call_soon_threadsafe(stream.feed_data, chunk)
        except OSError:
            logger.warning("stdin cannot be read any more")
        finally:
            try:
                loop.call_soon_threadsafe(stream.feed_eof)
            except RuntimeError:
                logger.debug("the loop ended before stdin did")

    # A daemon thread: a read that waits must not keep the process alive.
    threading.Thread(target=pump, name="stdin", daemon=True).start()
    return stream


async def serve(stream: asyncio.StreamReader, receiver: Receiver) -> None:
    """Hand every message of `stream` to `receiver` until it ends or wants no more."""
    while receiver.exit_code is None:
        try:
            body = await _read_message(stream)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            logger.warning("the input is not, or no longer, a stream of messages")
            body = None
        if body is None:
            return
        receiver.receive(body)
        # Work that messages started gets its turn even while more of them lie in the buffer.
        await asyncio.sleep(0)


async def _read_message(stream: asyncio.StreamReader) -> bytes | None:
    """The next message's body; None at the end. Raises ValueError for a header that names no length."""
    length = None
    while True:
        line = await stream.readuntil(b"\n") if not stream.at_eof() else b""
        if not line:
            return None
        header = line.rstrip(b"\r\n")
        if not header:
            if length is None:
                raise ValueError("no Content-Length")
            return await stream.readexactly(length)
        if found := _LENGTH.fullmatch(header):
            length = int(found[1])
            if length > _LARGEST:
                raise ValueError("the message is too large")
