"""Jobs, and the queue that is fair between clients and keeps the newest request of each document.

Plain data structures, not thread-safe by themselves; the worker guards them. Knows nothing of engines.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from velospec.core.cancellation import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from velospec.core.errors import VeloSpecError
    from velospec.core.request import InfillRequest, TextRequest


class WorkToken(CancelToken):
    """A cancel token that counts how often the work looked at it: its steps, as the watchdog sees them."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @property
    def cancelled(self) -> bool:
        self.steps += 1
        return self._cancelled.is_set()

    @property
    def is_set(self) -> bool:
        """Whether it was cancelled; does not count as a step."""
        return self._cancelled.is_set()


class Task(Enum):
    """What a job asks of the engine."""

    INFILL = auto()
    GENERATE = auto()
    LOAD = auto()  # nothing but that the model is there
    MEASURE = auto()


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way to a worker. The callbacks are called in the thread of the event loop.

    `done(value, error)` is called exactly once; exactly one of the two is None, except that a job without
    an answer has neither.
    """

    client: int
    task: Task
    done: Callable[[Any, VeloSpecError | None], None]
    request: InfillRequest | TextRequest | None = None
    on_text: Callable[[str], None] | None = None
    background: bool = False  # nobody waits for it: gives way to everything
    token: WorkToken = field(default_factory=WorkToken)
    finished: bool = False

    @property
    def document(self) -> str:
        """What it supersedes within its client; empty: nothing."""
        return self.request.document if self.request else ""

    def finish(self, value: Any, error: VeloSpecError | None = None) -> None:
        """Answer, unless that has been done: a cancelled job is answered before its work has ended."""
        if not self.finished:
            self.finished = True
            self.done(value, error)


class FairQueue:
    """First in, first out within a client; in turn between clients; background jobs last."""

    def __init__(self) -> None:
        self._turns: OrderedDict[int, list[Job]] = OrderedDict()  # the first client is served next
        self._background: list[Job] = []

    @property
    def requests(self) -> int:
        """How many jobs are queued, background jobs not counted."""
        return sum(map(len, self._turns.values()))

    def __len__(self) -> int:
        return self.requests + len(self._background)

    def push(self, job: Job) -> Job | None:
        """Queue `job`; an older one of the same client and document loses its place to it and is returned."""
        if job.background:
            self._background.append(job)
            return None
        queue = self._turns.setdefault(job.client, [])
        for index, older in enumerate(queue):
            if job.document and older.document == job.document:
                queue[index] = job
                return older
        queue.append(job)
        return None

    def pop(self) -> Job | None:
        """The next job; its client goes to the end of the line."""
        for client, queue in self._turns.items():
            job = queue.pop(0)
            del self._turns[client]
            if queue:
                self._turns[client] = queue
            return job
        return self._background.pop(0) if self._background else None

    def remove(self, job: Job) -> bool:
        """Take `job` out; False if it is not queued."""
        if job in self._background:
            self._background.remove(job)
            return True
        queue = self._turns.get(job.client, [])
        if job not in queue:
            return False
        queue.remove(job)
        if not queue:
            del self._turns[job.client]
        return True

    def clear_background(self) -> list[Job]:
        """Take the background jobs out and return them, in order."""
        jobs, self._background = self._background, []
        return jobs

    def clear(self) -> list[Job]:
        """Empty the queue and return what was in it, in order."""
        jobs = []
        while (job := self.pop()) is not None:
            jobs.append(job)
        return jobs
