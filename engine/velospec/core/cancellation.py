"""Cancellation: a flag that another thread sets and the decode loop reads once per step."""

from __future__ import annotations

import threading
import time


class CancelToken:
    """Tells running work to stop: by `cancel()` from any thread, or by passing a deadline.

    The two differ for the caller: a cancelled request has no answer, while one past its deadline
    answers with what it has.
    """

    __slots__ = ("_cancelled", "deadline")

    def __init__(self, deadline: float | None = None) -> None:
        """`deadline` is on the clock of `time.monotonic`, in seconds; None means no limit."""
        self._cancelled = threading.Event()
        self.deadline = deadline

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def expired(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline
