"""How many threads a batch runs on, adapted to what else the machine is doing.

The threads of a batch meet at a barrier after each of about a thousand graph nodes, and wait there spinning.
If one of them has to share its core, all wait for it, a thousand times over: a single row that takes 8 ms on
two idle cores was measured to take 180 ms on them beside compilers, and 26 ms there on one thread. So threads
that the machine does not really grant are given up, and tried again after a while. Logits do not depend on
the number of threads (the numerics probe checks that). Knows nothing of models.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_WINDOW = 0.05  # seconds of batches that are judged together: systems count CPU time in steps of up to 10 ms
_SMOOTHING = 0.4  # weight of the newest window
_TOLERATED = 0.3  # threads' worth of missing CPU time that is put down to noise
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 16.0  # seconds before a given-up thread is tried again; doubles

Clock = Callable[[], float]


class ThreadGovernor:
    """Counts the CPU time that a batch got against what its threads would get on an idle machine."""

    def __init__(self, most: int, clock: Clock = time.monotonic) -> None:
        """`most` is the number of threads on an idle machine, at least 1."""
        self.most = most
        self.threads = most
        self._clock = clock
        self._wall = self._cpu = 0.0  # seconds, of the window under way
        self._missing = 0.0  # smoothed, in threads
        self._pause = _FIRST_PAUSE
        self._retry_at = math.inf

    def choose(self) -> int:
        """Threads for the next batch."""
        if self.threads < self.most and self._clock() >= self._retry_at:
            self.threads = self.most
            self._missing = self._wall = self._cpu = 0.0
            self._retry_at = math.inf
        return self.threads

    def observe(self, wall: float, cpu: float) -> None:
        """Take note of a batch on `threads` threads: its seconds, and the seconds of CPU time it got."""
        self._wall += wall
        self._cpu += cpu
        if self._wall < _WINDOW:
            return
        missing = max(0.0, self.threads - self._cpu / self._wall)
        self._wall = self._cpu = 0.0
        self._missing += _SMOOTHING * (missing - self._missing)
        if self._missing > _TOLERATED and self.threads > 1:
            if self.threads == self.most:
                self._retry_at = self._clock() + self._pause
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self.threads = max(1, self.threads - math.ceil(self._missing))
            self._missing = 0.0
        elif self.threads == self.most and self._missing < _TOLERATED / 2:
            self._pause = max(_FIRST_PAUSE, 0.9 * self._pause)
