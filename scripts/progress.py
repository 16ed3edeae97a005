"""Run a long command behind one live line: what it does, how far it is, how long it has taken.

On a terminal the line is redrawn each second; elsewhere a line is printed every 30 seconds. The command's
whole output goes to a log file, and its end is part of the error when the command fails. Standard library
only, since this runs before anything is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_STEP = re.compile(r"^\s*\[\s*(\d+/\d+|\d+%)\]")  # ninja counts steps, make counts percent
_DOING = re.compile(r"^\s*(Collecting|Downloading|Building wheel for|Installing collected)\b\s*(\S*)")
_TAIL = 40  # lines of output shown when the command fails
_QUIET_PERIOD = 30.0  # seconds between two lines where there is no terminal


class StepError(Exception):
    """A command of the set-up failed; the message tells which, and where its output is kept.

    `tail` is the end of that output.
    """

    def __init__(self, message: str, tail: str) -> None:
        super().__init__(message)
        self.tail = tail


def run(title: str, command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path) -> None:
    """Run `command` in `folder`, showing `title` and its progress.

    Raises StepError if it does not end with status 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    line = _Line(title)
    tail: deque[str] = deque(maxlen=_TAIL)
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        try:
            for text in process.stdout or ():
                kept.write(text)
                tail.append(text)
                line.detail = _detail(text) or line.detail
        except BaseException:  # an interrupt too must not leave a compiler running behind the prompt
            process.terminate()
            raise
        finally:
            status = process.wait()
            line.finish("done" if status == 0 else "failed")
    if status != 0:
        message = f"{title}: failed (status {status}). The whole output is in {log}"
        raise StepError(message, "".join(tail))


def _detail(text: str) -> str:
    """What a line of pip's, ninja's or make's output says about the progress; empty if nothing."""
    step = _STEP.match(text)
    if step:
        return f"compiling {step.group(1)}"
    doing = _DOING.match(text)
    if not doing:
        return ""
    verb, what = doing.groups()
    if verb == "Installing collected":
        return "installing"
    return f"{verb.lower()} {what.rsplit('/', 1)[-1]}"


class _Line:
    """The live line, drawn by a thread of its own until `finish` is called."""

    def __init__(self, title: str) -> None:
        self.detail = ""
        self._title = title
        self._start = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._show()
        self._thread.start()

    def finish(self, outcome: str) -> None:
        self._done.set()
        self._thread.join()
        self.detail = outcome
        self._show(end="\n")

    def _draw(self) -> None:
        while not self._done.wait(1.0 if self._terminal else _QUIET_PERIOD):
            self._show()

    def _show(self, end: str = "") -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        text = f"{self._title}  {minutes}:{seconds:02d}  {self.detail}"
        sys.stdout.write(f"\r\x1b[2K{text[: _columns()]}{end}" if self._terminal else f"{text}\n")
        sys.stdout.flush()


def _columns() -> int:
    """Columns that fit one line of the terminal, so that redrawing never wraps."""
    import shutil  # noqa: PLC0415 - only where there is a terminal

    return max(20, shutil.get_terminal_size().columns - 1)
