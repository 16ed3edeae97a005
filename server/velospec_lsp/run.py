"""Runs one server until its client has gone: the process around `server.Server`."""

from __future__ import annotations

import asyncio
import logging
import sys

from velospec_lsp.logs import set_up_logging
from velospec_lsp.server import Server
from velospec_lsp.transport import Stdout, read_descriptor, serve
from velospec_lsp.warm import warm

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 3.0


def run(*, tcp_port: int | None, log_level: str) -> int:
    """Serve on stdin and stdout, or one client on a loopback port; returns the exit code."""
    output = Stdout.take() if tcp_port is None else None
    set_up_logging(log_level)
    try:
        if output is not None:
            return asyncio.run(_serve_stdio(output))
        assert tcp_port is not None  # noqa: S101  # there is no output without it
        return asyncio.run(_serve_tcp(tcp_port))
    except KeyboardInterrupt:
        return 130


async def _serve_stdio(output: Stdout) -> int:
    server = Server()
    server.protocol.set_writer(output)
    return await _serve(server, read_descriptor(sys.stdin.fileno()))


async def _serve_tcp(port: int) -> int:
    finished: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if finished.done() or busy.locked():
            writer.close()
            return
        async with busy:
            server = Server()
            server.protocol.set_writer(_SocketWriter(writer))
            code = await _serve(server, reader)
            writer.close()
        if not finished.done():
            finished.set_result(code)

    busy = asyncio.Lock()
    listener = await asyncio.start_server(connected, "127.0.0.1", port)
    address = listener.sockets[0].getsockname()
    sys.stderr.write(f"velospec-lsp: serving on {address[0]}:{address[1]}\n")
    try:
        return await finished
    finally:
        listener.close()


class _SocketWriter:
    """A stream writer in the shape that the protocol class wants."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


async def _serve(server: Server, stream: asyncio.StreamReader) -> int:
    """Serve one client to its end."""
    protocol = server.protocol
    warm(protocol)
    reading = asyncio.ensure_future(serve(stream, protocol))
    ended = asyncio.ensure_future(protocol.ended.wait())
    await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
    # The end of the input without an `exit` is an end all the same, but not a proper one.
    protocol.end(0 if protocol.finished else 1)
    for task in (reading, ended):
        task.cancel()
    await asyncio.gather(reading, ended, return_exceptions=True)
    try:
        await asyncio.wait_for(server.close(), _CLOSE_SECONDS)
    except TimeoutError:
        logger.warning("something did not stop in time")
    return protocol.exit_code or 0
