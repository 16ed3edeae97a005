"""`python -m velospec.daemon`: the supervisor; with `--host` first, the process that it looks after."""

from __future__ import annotations

import importlib
import sys

from velospec.daemon.options import parse
from velospec.daemon.supervisor import supervise

HOST = "--host"


def main(arguments: list[str]) -> int:
    """Run the daemon in the foreground; 0 when it left on purpose."""
    if arguments[:1] == [HOST]:
        # Loaded here alone: the supervisor stays small, and survives what native code does.
        importlib.import_module("velospec.daemon.host").host_installed_models(parse(arguments[1:]))
    return supervise(parse(arguments), (sys.executable, "-P", "-m", "velospec.daemon", HOST))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
