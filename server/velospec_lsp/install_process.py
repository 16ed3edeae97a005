"""Installs one model and reports in lines of JSON: `python -m velospec_lsp.install_process NAME`.

Stdout carries {"label", "done", "total"} as it goes on, and {"cause", "remedy"} if it fails.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import FrameType
from typing import Any

from velospec.core.errors import VeloSpecError

_PERIOD = 0.1  # seconds between two reports


def main(name: str) -> int:
    """Install `name`; returns the exit code."""
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what pip and native libraries print is no report
    last = [0.0]

    def say(**news: Any) -> None:
        stdout.write(json.dumps(news) + "\n")
        stdout.flush()

    def progress(label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total or now - last[0] >= _PERIOD:
            last[0] = now
            say(label=label, done=done, total=total)

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        from velospec.models.install import install  # noqa: PLC0415  # it is what this process is for

        install(name, progress=progress)
    except VeloSpecError as error:
        say(cause=error.cause, remedy=error.remedy)
        return 1
    except KeyboardInterrupt:
        say(cause=f"The installation of {name} was stopped.", remedy=f"Run: velospec model install {name}")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
