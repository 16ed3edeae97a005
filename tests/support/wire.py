"""A language client that is nothing but bytes: it runs the installed command and reads what that writes.

Shares no code with the server, so that a mistake in writing cannot be made up for by the same one in reading.
On `close` it fails if the server wrote anything but whole messages, or messages the test did not take.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Message = dict[str, Any]
SECONDS = 120.0  # for any one answer; far more than one takes, from a real model on a busy machine too
BACKGROUND = frozenset({"velospec/status"})  # notifications that may come at any time
WITH_INLINE: Message = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}


def frame(message: Message) -> bytes:
    """`message` as it goes over the wire."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def parse(data: bytes) -> tuple[list[Message], bytes]:
    """The whole messages in `data`, and the bytes left over. Fails on anything that is no message."""
    messages = []
    while True:
        head, separator, rest = data.partition(b"\r\n\r\n")
        if not separator:
            assert b"Content-Length: ".startswith(data[:16]) or data.startswith(b"Content-Length: "), data[
                :200
            ]
            return messages, data
        name, _, length = head.partition(b": ")
        assert name == b"Content-Length", f"stray bytes on stdout: {data[:200]!r}"
        if len(rest) < int(length):
            return messages, data
        message = json.loads(rest[: int(length)])
        assert message["jsonrpc"] == "2.0"
        messages.append(message)
        data = rest[int(length) :]


class Wire:
    """One running server, over its stdio or, with `tcp`, over a port."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        arguments: tuple[str, ...] = ("--stdio",),
        tcp: bool = False,
        command: tuple[str, ...] | None = None,
    ) -> None:
        self._ids = iter(range(1, 1_000_000))
        self.messages: queue.Queue[Message | BaseException | None] = queue.Queue()
        self.unread: list[Message] = []
        self.opened: set[str] = set()
        self.background: list[Message] = []  # of kinds that a test need not take
        self.answers: dict[str, Callable[[Message], Any]] = {}
        self.process = subprocess.Popen(
            [*(command or (installed_command(),)), *(("--tcp", "0") if tcp else arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.stderr = bytearray()
        self._socket: socket.socket | None = None
        if tcp:
            line = self.process.stderr.readline().decode()
            host, _, port = line.strip().rpartition(" ")[2].rpartition(":")
            self._socket = socket.create_connection((host, int(port)))
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        self._drainer.start()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # What is sent.

    def write(self, data: bytes) -> None:
        """Send bytes as they are, in one write."""
        if self._socket:
            self._socket.sendall(data)
        else:
            assert self.process.stdin
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message: Message) -> None:
        """Send one message as it is."""
        self.write(frame(message))

    def notify(self, method: str, params: Any = None) -> None:
        self.write(frame(notification(method, params)))

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request; returns its id."""
        number = next(self._ids)
        self.write(frame(request(number, method, params)))
        return number

    def number(self) -> int:
        """An id for a request that the test writes itself."""
        return next(self._ids)

    # What comes back.

    def take(self, wanted: Callable[[Message], bool], seconds: float = SECONDS) -> Message:
        """The next message that `wanted` accepts; others are kept, and must be taken too."""
        for kept in (self.unread, self.background):
            for message in filter(wanted, kept):
                kept.remove(message)
                return message
        until = time.monotonic() + seconds
        while not wanted(message := self._next(until)):
            if message.get("method") in BACKGROUND:
                self.background.append(message)
            elif not self._answered(message):
                self.unread.append(message)
        return message

    def _next(self, until: float) -> Message:
        try:
            message = self.messages.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            raise AssertionError(
                f"no such message; unread: {self.unread}; stderr: {self.stderr.decode()}"
            ) from None
        if isinstance(message, BaseException):
            raise message
        if message is None:
            self.messages.put(None)
            raise AssertionError(f"the server has ended; stderr: {self.stderr.decode()}")
        return message

    def _answered(self, message: Message) -> bool:
        """Answer a request of the server's that the test has prepared for."""
        answer = self.answers.get(message.get("method", ""))
        if answer is None or "id" not in message:
            return False
        self.write(frame({"jsonrpc": "2.0", "id": message["id"], "result": answer(message["params"])}))
        return True

    def reply(self, number: int | str | None, seconds: float = SECONDS) -> Message:
        """The whole reply to request `number`."""
        return self.take(lambda it: "method" not in it and it.get("id", 0) == number, seconds)

    def result(self, number: int, seconds: float = SECONDS) -> Any:
        """The result of request `number`, which must be no error."""
        reply = self.reply(number, seconds)
        assert "error" not in reply, reply
        return reply["result"]

    def notification(self, method: str, seconds: float = SECONDS) -> Any:
        """The parameters of the next notification (or request of the server's) `method`."""
        return self.take(lambda it: it.get("method") == method, seconds)["params"]

    def call(self, method: str, params: Any = None) -> Any:
        return self.result(self.ask(method, params))

    def quiet(self) -> None:
        """Wait until the server has handled all that was sent: it answers in order."""
        assert self.reply(self.ask("velospec/noSuchMethod"))["error"]["code"] == -32601

    # What tests do again and again.

    def initialize(
        self,
        capabilities: Message | None = None,
        options: Any = None,
        **params: Any,
    ) -> Message:
        """initialize and initialized; returns the server's capabilities."""
        given = {"processId": None, "rootUri": None, "capabilities": capabilities or WITH_INLINE, **params}
        if options is not None:
            given["initializationOptions"] = options
        result = self.call("initialize", given)
        self.notify("initialized", {})
        assert result["serverInfo"]["name"] == "velospec"
        return dict(result["capabilities"])

    def open(self, uri: str, text: str, language: str = "python") -> None:
        self.opened.add(uri)
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def complete(self, uri: str, line: int, character: int, **context: Any) -> Any:
        """The result of an inline completion."""
        return self.call("textDocument/inlineCompletion", at(uri, line, character, **context))

    def close_documents(self) -> None:
        """Leave the server as it was before the first document, with nothing unread."""
        for uri in self.opened:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.opened.clear()
        self.quiet()
        self.background.clear()
        assert not self.unread, f"messages the test did not expect: {self.unread}"

    def shut_down(self) -> int:
        """shutdown, exit; returns the exit code."""
        assert self.call("shutdown") is None
        self.notify("exit")
        return self.process.wait(SECONDS)

    def close(self) -> None:
        """End the server if it still runs, and check what it has written."""
        try:
            if self.process.poll() is None:
                self.shut_down()
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait(SECONDS)
            self._reader.join(SECONDS)
            self._drainer.join(SECONDS)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr, self._socket):
                if stream:
                    stream.close()
        while not self.messages.empty():
            message = self.messages.get()
            if isinstance(message, BaseException):
                raise message
            if message is not None and message.get("method") not in BACKGROUND:
                self.unread.append(message)
        assert not self.unread, f"messages the test did not expect: {self.unread}"
        assert b"Traceback" not in self.stderr, self.stderr.decode()

    def _read(self) -> None:
        data = b""
        try:
            while chunk := self._chunk():
                messages, data = parse(data + chunk)
                for message in messages:
                    self.messages.put(message)
            assert not data, f"stray bytes at the end of stdout: {data!r}"
        except (AssertionError, ValueError, KeyError) as error:
            self.messages.put(error)
        self.messages.put(None)

    def _chunk(self) -> bytes:
        assert self.process.stdout
        if self._socket is None:
            return os.read(self.process.stdout.fileno(), 65536)
        try:
            return self._socket.recv(65536)
        except OSError:
            return b""

    def _drain(self) -> None:
        assert self.process.stderr
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            self.stderr += chunk


def installed_command() -> str:
    """The command as an editor finds it: beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("velospec-lsp")
    found = str(beside) if beside.exists() else shutil.which("velospec-lsp")
    assert found, "velospec-lsp is not installed"
    return found


def request(number: int | str, method: str, params: Any = None) -> Message:
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> Message:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def at(uri: str, line: int, character: int, **context: Any) -> Message:
    """Parameters of an inline completion."""
    return {
        "textDocument": {"uri": uri},
        "position": {"line": line, "character": character},
        "context": {"triggerKind": 2, **context},
    }


def change(uri: str, version: int, *changes: tuple[int, int, int, int, str]) -> Message:
    """Parameters of didChange: line, character, line, character, text."""
    return {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [
            {
                "range": {"start": {"line": a, "character": b}, "end": {"line": c, "character": d}},
                "text": text,
            }
            for a, b, c, d, text in changes
        ],
    }
