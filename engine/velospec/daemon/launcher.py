"""Starts the daemon for a client, detached from it, and says why if it cannot be started.

Any number of clients may try at once: one starts it, the others wait for that. Blocking; the asynchronous
client calls it in a thread. Knows nothing of frames.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from velospec.core import paths
from velospec.core.errors import ERRORS, DaemonError, VeloSpecError
from velospec.daemon.endpoint import Endpoint, reachable, take_lock
from velospec.daemon.options import DaemonOptions, from_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

DAEMON_COMMAND = (sys.executable, "-P", "-m", "velospec.daemon")
_POLL = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Launcher:
    """How to start a daemon. `options` None: from the environment."""

    command: Sequence[str] = DAEMON_COMMAND
    options: DaemonOptions | None = None
    timeout: float = 30.0  # seconds until a daemon has to listen

    def settings(self) -> DaemonOptions:
        return self.options or from_environment()

    def start(self, endpoint: Endpoint, build: str) -> None:
        """Return when a daemon listens at `endpoint`, started by us or by another client.

        Raises VeloSpecError: DaemonError, or NativeCrashError if it crashed while it started.
        """
        endpoint.prepare()
        deadline = time.monotonic() + self.timeout
        handle = _wait_for_lock(endpoint, deadline)
        try:
            while time.monotonic() < deadline:
                if reachable(endpoint):
                    return
                if endpoint.locked():  # another one is starting, or one is leaving
                    time.sleep(_POLL)
                    continue
                if self._spawn(endpoint, build, deadline):
                    return
        finally:
            os.close(handle)
        raise DaemonError("The daemon did not start in time.", "See `velospec daemon log`.")

    def _spawn(self, endpoint: Endpoint, build: str, deadline: float) -> bool:
        """Start a supervisor; True if its host listens, False if another daemon was quicker."""
        options = replace(self.settings(), name=endpoint.name, transport=endpoint.transport, build=build)
        environment = dict(os.environ)
        home = paths.home()
        if home:
            environment["VELOSPEC_HOME"] = str(home)
        try:
            process = subprocess.Popen(
                [*self.command, *options.arguments()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=endpoint.folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise DaemonError(f"The daemon cannot be started: {error}.") from error
        # The daemon outlives us or ends before us; in the second case somebody has to reap it.
        threading.Thread(target=process.wait, name="velospec-reaper", daemon=True).start()
        news = _read_news(process, deadline)
        if "ready" in news:
            return True
        if "taken" in news:
            return False
        kind: type[VeloSpecError] = ERRORS.get(str(news.get("code")), DaemonError)
        raise kind(str(news["cause"]), str(news.get("remedy", "")))


def _wait_for_lock(endpoint: Endpoint, deadline: float) -> int:
    while True:
        handle = take_lock(endpoint.launch_file)
        if handle is not None:
            return handle
        if time.monotonic() > deadline:
            raise DaemonError("Another program has been starting the daemon for too long.")
        time.sleep(_POLL)


def _read_news(process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
    """The first line of JSON that the supervisor writes; what comes before it explains a failed start."""
    assert process.stdout is not None  # noqa: S101 - Popen was asked for a pipe
    text = b""
    with process.stdout as stream:
        while select.select([stream], [], [], max(deadline - time.monotonic(), 0))[0]:
            block = os.read(stream.fileno(), 1 << 16)
            if not block:
                last = text.decode("utf-8", "replace").strip().rpartition("\n")[2]
                return {"cause": f"The daemon did not start: {last or 'it ended at once'}."}
            text += block
            for line in text.split(b"\n")[:-1]:
                if line.startswith(b"{"):
                    return dict(json.loads(line))
    process.terminate()
    return {"cause": "The daemon did not start in time.", "remedy": "See `velospec daemon log`."}
