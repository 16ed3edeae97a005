"""Shows the progress of long work as bars on a terminal, and nothing where the output is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

_BYTES = 1_000_000  # a whole larger than this is counted in bytes


class Bars:
    """A bar per step of the work; call it with what is done, how much of it, and the whole (0: unknown)."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._steps = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bytes = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._shown: Progress | None = None
        self._label, self._task = "", TaskID(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        kind = self._bytes if total > _BYTES else self._steps
        if label != self._label or kind is not self._shown:
            self._start(kind, label)
        self._shown = kind
        kind.update(self._task, completed=done, total=total or None)

    def _start(self, kind: Progress, label: str) -> None:
        if self._shown is not None and self._shown is not kind:
            self._shown.stop()
        kind.start()
        if label != self._label:
            self._label = label
            if not self._console.is_terminal:
                self._console.print(label, highlight=False)
        self._task = kind.add_task(label, total=None)
