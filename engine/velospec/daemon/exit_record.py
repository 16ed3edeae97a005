"""How a daemon ended, as its supervisor saw it, and what that means for the user.

The supervisor writes the record, the client reads it when the daemon went away and says why. Knows the
likely faults behind signals; knows nothing of sockets.
"""

from __future__ import annotations

import importlib.metadata
import json
import signal
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from velospec.core.errors import DaemonError, NativeCrashError, ProtocolError
from velospec.daemon.codec import from_plain
from velospec.daemon.endpoint import write_private

if TYPE_CHECKING:
    from pathlib import Path

NATIVE_FAULTS = frozenset(
    {signal.SIGSEGV, signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP}
)
_FLAGS = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF"


class Phase(StrEnum):
    """What the host was doing last."""

    STARTING = "starting"
    LOADING = "loading"
    FIRST_DECODE = "first-decode"  # a model is in memory but has not answered yet
    SERVING = "serving"


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """The end of the host process `pid`. `signal` 0: it exited by itself, with `status`."""

    pid: int
    signal: int = 0
    status: int = 0
    hung: bool = False  # it was killed because nothing moved
    phase: Phase = Phase.STARTING
    model: str = ""

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self)))


def read_record(path: Path, pid: int) -> ExitRecord | None:
    """The record of the process `pid`, or None if there is none (yet)."""
    try:
        record = from_plain(ExitRecord, json.loads(path.read_text("utf-8")), lenient=True)
    except (OSError, ValueError, ProtocolError):
        return None
    return record if record.pid == pid else None


def explain(record: ExitRecord | None) -> DaemonError:
    """The error for requests that were under way when the daemon ended so."""
    if record is None:
        return DaemonError("The daemon went away.", "See `velospec daemon log`.")
    if record.hung:
        return DaemonError(
            "The daemon made no progress and was ended.",
            "If it happens again, choose a smaller model: `velospec model install`.",
        )
    if record.signal in NATIVE_FAULTS and record.phase is not Phase.SERVING:
        return _native(record)
    if record.signal == signal.SIGKILL:
        return DaemonError(
            "The daemon was killed, most likely because memory ran out.",
            "Close other programs or choose a smaller model: `velospec model install`.",
        )
    how = f"by {_name(record.signal)}" if record.signal else f"with status {record.status}"
    return DaemonError(f"The daemon ended {how}.", "See `velospec daemon log`.")


def rebuild_commands() -> str:
    """The commands that rebuild llama-cpp-python for any processor, for pip, uv and pipx installs."""
    try:
        version = importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        version = "0.3.36"
    options = "--force-reinstall --no-cache-dir --no-binary llama-cpp-python"
    package = f"llama-cpp-python=={version}"
    uv_options = "--reinstall-package llama-cpp-python --no-binary-package llama-cpp-python"
    return "\n".join(
        (
            f'pip:  CMAKE_ARGS="{_FLAGS}" pip install {options} {package}',
            f'pipx: CMAKE_ARGS="{_FLAGS}" pipx runpip velospec install {options} {package}',
            f'uv:   CMAKE_ARGS="{_FLAGS}" uv tool upgrade velospec --no-cache {uv_options}',
        )
    )


def _native(record: ExitRecord) -> NativeCrashError:
    when = {
        Phase.STARTING: "while it started",
        Phase.LOADING: f"while it loaded {record.model}",
        Phase.FIRST_DECODE: f"in the first decode of {record.model}",
    }[record.phase]
    return NativeCrashError(
        f"The daemon crashed ({_name(record.signal)}) {when}. Most likely the native build of "
        "llama-cpp-python was not made for this processor.",
        f"Rebuild it for any processor with the line for your kind of installation:\n{rebuild_commands()}",
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
