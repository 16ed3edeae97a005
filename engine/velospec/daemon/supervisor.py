"""The parent of the process that holds the models: lock, log, watchdog and the record of how it ended.

It stays small and runs no native code, so that it outlives every crash of its child and can say why the
child ended. The child (the host) tells it what it does in lines of JSON on its standard output:

    {"listening": true}   {"phase": "loading", "model": "..."}   {"beat": 1}   {"hung": "..."}

What the child writes to its standard error goes to the log, rotated here. The child ends when its standard
input ends, so it does not outlive the supervisor.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from logging.handlers import RotatingFileHandler
from typing import IO, TYPE_CHECKING, Any

from velospec.core import paths
from velospec.core.errors import DaemonError
from velospec.daemon.endpoint import Endpoint, take_lock
from velospec.daemon.exit_record import ExitRecord, Phase, explain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from velospec.daemon.options import DaemonOptions

_LOG_BYTES = 1 << 20
_LOG_FILES = 2
_TERMINATE_SECONDS = 10.0
_START_SECONDS = 60.0
_TICK = 1.0


def log_file(name: str = "daemon") -> Path:
    """The log of the daemon called `name`."""
    return paths.log_folder() / f"{name}.log"


def tell_launcher(**news: object) -> None:
    """One line of JSON on standard output, read by the launcher; a launcher that has gone is no error."""
    try:
        sys.stdout.write(json.dumps(news) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go_of_launcher()


def supervise(options: DaemonOptions, host_command: Sequence[str]) -> int:
    """Run the host until it ends; 0 if it left on purpose or another daemon holds the lock, else 1."""
    endpoint = Endpoint.named(options.name, options.transport)
    try:
        endpoint.prepare()
        lock = _take_lock(endpoint)
        if lock is None:
            tell_launcher(taken=True)
            return 0
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        endpoint.clear()
        log = _open_log(options.name)
    except (DaemonError, OSError) as error:
        cause = error if isinstance(error, DaemonError) else _cannot_start(error)
        tell_launcher(cause=cause.cause, remedy=cause.remedy)
        return 1
    try:
        record = _Watch(endpoint, options.hang_seconds, log).run([*host_command, *options.arguments()])
    finally:
        endpoint.clear()
        os.close(lock)
    return 0 if record.status == record.signal == 0 else 1


def _cannot_start(error: OSError) -> DaemonError:
    return DaemonError(
        f"The daemon cannot start: {error}.",
        "Make room or rights where it writes, or let VELOSPEC_HOME name another folder.",
    )


def _take_lock(endpoint: Endpoint) -> int | None:
    """The daemon's lock, or None if another daemon has it, and not just somebody who looks at it."""
    for _ in range(10):
        lock = take_lock(endpoint.lock_file)
        if lock is not None:
            return lock
        time.sleep(0.02)
    return None


class _Watch:
    """One host process, from its start to its record."""

    def __init__(self, endpoint: Endpoint, hang_seconds: float, log: logging.Logger) -> None:
        self._endpoint = endpoint
        self._hang_seconds = hang_seconds
        self._log = log
        self._phase = Phase.STARTING
        self._model = ""
        self._listening = False
        self._hung = False
        self._last_news = time.monotonic()
        self._kill_at: float | None = None

    def run(self, command: Sequence[str]) -> ExitRecord:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as host:
            self._forward_signals(host)
            self._follow(host)
            status = host.wait()
        record = ExitRecord(
            pid=host.pid,
            signal=max(-status, 0),
            status=max(status, 0),
            hung=self._hung,
            phase=self._phase,
            model=self._model,
        )
        if not (self._kill_at and not self._hung):  # asked to end: no crash, however it ended
            record.write(self._endpoint.exit_file)
        self._log.info("host %d ended: %s", host.pid, record)
        if not self._listening:
            error = explain(record)
            tell_launcher(code=error.code, cause=error.cause, remedy=error.remedy)
        return record

    def _follow(self, host: subprocess.Popen[bytes]) -> None:
        """Read what the host says until it has ended or closed both streams, and watch the clock."""
        assert host.stdout is not None  # noqa: S101 - Popen was asked for pipes
        assert host.stderr is not None  # noqa: S101 - Popen was asked for pipes
        with selectors.DefaultSelector() as selector:
            for stream, handle in ((host.stdout, self._on_news), (host.stderr, self._on_log)):
                selector.register(stream, selectors.EVENT_READ, _Lines(stream, handle))
            while selector.get_map():
                ready = selector.select(_TICK)
                for key, _ in ready:
                    if not key.data.read():
                        selector.unregister(key.fileobj)
                self._watch_clock(host)
                if not ready and host.poll() is not None:
                    return  # a grandchild may hold the pipes open

    def _watch_clock(self, host: subprocess.Popen[bytes]) -> None:
        now = time.monotonic()
        patience = self._hang_seconds if self._listening else max(self._hang_seconds, _START_SECONDS)
        if not self._hung and now - self._last_news > patience:
            self._hung = True
        if self._hung or (self._kill_at and now > self._kill_at):
            host.kill()

    def _forward_signals(self, host: subprocess.Popen[bytes]) -> None:
        def end(number: int, _frame: object) -> None:
            self._log.info("asked to end by signal %d", number)
            self._kill_at = time.monotonic() + _TERMINATE_SECONDS
            host.terminate()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)

    def _on_news(self, line: bytes) -> None:
        self._last_news = time.monotonic()
        news = _parse(line)
        if "phase" in news:
            self._phase, self._model = Phase(news["phase"]), str(news.get("model", ""))
        if "hung" in news:
            self._hung = True
        if "listening" in news:
            self._listening = True
            tell_launcher(ready=True)
            _let_go_of_launcher()

    def _on_log(self, line: bytes) -> None:
        self._log.info("%s", line.decode("utf-8", "replace").rstrip())


class _Lines:
    """Hands over the complete lines of a pipe, and the rest at its end."""

    def __init__(self, stream: IO[bytes], handle: Any) -> None:
        self._descriptor = stream.fileno()
        self._handle = handle
        self._rest = b""

    def read(self) -> bool:
        """Read once; False at the end of the stream."""
        block = os.read(self._descriptor, 1 << 16)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._handle(line)
        if not block and self._rest:
            self._handle(self._rest)
        return bool(block)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _let_go_of_launcher() -> None:
    """Leave the launcher's pipe, so that nothing of ours depends on it from now on."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _open_log(name: str) -> logging.Logger:
    path = log_file(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("velospec.daemon.supervisor")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    log.info("supervisor %d starts %s", os.getpid(), name)
    return log
