"""How a daemon is set up: command-line options, with defaults from the environment.

The launcher writes the options as arguments, supervisor and host read them. Knows nothing of sockets.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from velospec.core.errors import SettingsError
from velospec.daemon.build import current_build

DEFAULT_TRANSPORT = "unix" if hasattr(socket, "AF_UNIX") else "tcp"

_LEAST_CONTEXT = 512
_ENVIRONMENT = {
    "transport": "VELOSPEC_DAEMON_TRANSPORT",
    "idle_seconds": "VELOSPEC_DAEMON_IDLE",
    "hang_seconds": "VELOSPEC_DAEMON_HANG",
    "memory_budget": "VELOSPEC_MEMORY_BUDGET",
    "context": "VELOSPEC_CONTEXT",
}


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """Settings of one daemon."""

    name: str = "daemon"  # of its socket, lock and exit record in the runtime folder
    build: str = ""  # empty: this installation's
    transport: str = DEFAULT_TRANSPORT  # or "tcp": a loopback port, guarded by a token
    idle_seconds: float = 600.0  # it leaves when it had no client for so long
    hang_seconds: float = 120.0  # it is killed when a request made no step for so long
    memory_budget: int = 0  # bytes for all models together; 0: a share of the memory available
    measure_after: float = 15.0  # seconds of quiet before an unmeasured model is measured; negative: never
    flush_seconds: float = 30.0  # what was learned of workspaces is on the disk so much later, at the most
    context: int = 2048  # tokens of a prompt and its answer, cut to what a model was trained for

    def arguments(self) -> list[str]:
        """The command line that `parse` reads back."""
        return [f"--{item.name.replace('_', '-')}={getattr(self, item.name)}" for item in fields(self)]


def from_environment(environment: Mapping[str, str] | None = None, **given: Any) -> DaemonOptions:
    """Options from `given`, else the environment, else the defaults. Raises SettingsError."""
    values: dict[str, Any] = {"build": current_build()}
    source = os.environ if environment is None else environment
    for item in fields(DaemonOptions):
        text = source.get(_ENVIRONMENT.get(item.name, ""), "")
        if text:
            values[item.name] = _convert(_ENVIRONMENT[item.name], text, type(item.default))
    values.update(given)
    return _checked(DaemonOptions(**values))


def parse(arguments: Sequence[str]) -> DaemonOptions:
    """Options from a command line; exits with a message on an unknown one."""
    parser = argparse.ArgumentParser(
        prog="python -m velospec.daemon", description="The process that holds the models, for all editors."
    )
    for item in fields(DaemonOptions):
        parser.add_argument(f"--{item.name.replace('_', '-')}", type=type(item.default))
    given = {key: value for key, value in vars(parser.parse_args(arguments)).items() if value is not None}
    return from_environment(**given)


def _convert(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}, which is no {kind.__name__}.", f"Unset {name}.") from None


def _checked(options: DaemonOptions) -> DaemonOptions:
    if options.transport not in {"unix", "tcp"}:
        raise SettingsError(
            f"VELOSPEC_DAEMON_TRANSPORT is {options.transport!r}.", "It can be 'unix' or 'tcp'."
        )
    if options.idle_seconds < 0 or options.hang_seconds <= 0 or options.memory_budget < 0:
        raise SettingsError("A time or a size of the daemon's options is negative.", "Give positive numbers.")
    if options.context < _LEAST_CONTEXT:
        raise SettingsError(
            f"VELOSPEC_CONTEXT is {options.context}; the least is {_LEAST_CONTEXT}.", "Give more tokens."
        )
    return options
