"""Cancellation: a flag that another thread sets and the decode loop reads once per step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CancelToken:
    """Tells running work to stop: by `cancel()` from any thread, or by passing a deadline.

    The two differ for the caller: a cancelled request has no answer, while one past its deadline
    answers with what it has.
    """

    __slots__ = ("_cancelled", "_interrupt", "_lock", "deadline")

    def __init__(self, deadline: float | None = None) -> None:
        """`deadline` is on the clock of `time.monotonic`, in seconds; None means no limit."""
        self._cancelled = threading.Event()
        self._interrupt: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self.deadline = deadline

    def cancel(self) -> None:
        """Set the flag, and interrupt the native call that the work may be inside."""
        with self._lock:
            self._cancelled.set()
            if self._interrupt is not None:
                self._interrupt()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def expired(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While the body runs, `cancel()` also calls `interrupt`, from its own thread; never afterwards."""
        with self._lock:
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None
