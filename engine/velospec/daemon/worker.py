"""One thread per loaded model: opens the engine, does the queued jobs one after the other, closes it.

All that others learn of it is posted to the event loop; nothing here blocks the loop. Knows nothing of
sockets, of other models or of memory budgets.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from velospec.core.errors import BackendError, CancelledError, ModelLoadError, VeloSpecError
from velospec.core.request import Completion, InfillRequest, TextRequest
from velospec.core.statistics import Statistics
from velospec.daemon.exit_record import Phase
from velospec.daemon.jobs import FairQueue, Job, Task
from velospec.daemon.served_engine import OnText, OpenEngine, ServedEngine

if TYPE_CHECKING:
    from velospec.models.store import InstalledModel

log = logging.getLogger(__name__)

_TELL_SECONDS = 0.05  # least time between two tellings of how far a load is

Post = Callable[[Callable[[], None]], None]


class State(StrEnum):
    """Where a worker stands."""

    WAITING = "waiting"  # for memory
    LOADING = "loading"
    READY = "ready"
    CLOSED = "closed"


class Listener(Protocol):
    """Who is told, in the thread of the event loop."""

    def loading(self, worker: Worker, fraction: float) -> None: ...
    def loaded(self, worker: Worker) -> None: ...
    def failed(self, worker: Worker, error: VeloSpecError) -> None: ...
    def measuring(self, worker: Worker, fraction: float) -> None: ...
    def paused(self, worker: Worker) -> None:
        """A job has ended."""

    def closed(self, worker: Worker) -> None: ...


class Worker:
    """The thread of one model. Public methods are for the thread of the event loop."""

    def __init__(
        self,
        model: InstalledModel,
        open_engine: OpenEngine,
        listener: Listener,
        post: Post,
        report: Callable[[Phase, str], None],
    ) -> None:
        self.model = model
        self.state = State.WAITING
        self.memory_bytes = model.size + model.size // 8  # a guess, until the engine is there
        self.used = time.monotonic()
        self.answered = 0
        self.told_notice = ""  # what has been told about the model
        self.abandoned = 0  # measurements in a pause that gave way to a request or met a busy machine
        self.statistics = Statistics()
        self.description: dict[str, Any] = {"measured": False}
        self._open = open_engine
        self._listener = listener
        self._post = post
        self._report = report
        self._gate = threading.Condition()
        self._queue = FairQueue()
        self._current: Job | None = None
        self._closing = False
        self._lessons = True  # whether the engine may have something to read
        self._seen: tuple[Job | None, int] = (None, 0)
        self._seen_at = 0.0
        self._told_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"model-{model.name}", daemon=True)

    @property
    def in_use(self) -> bool:
        """Whether a job is running or waiting, or the model is being loaded."""
        with self._gate:
            return self.state is State.LOADING or self._current is not None or len(self._queue) > 0

    @property
    def working(self) -> bool:
        """As `in_use`, but what nobody waits for does not count."""
        with self._gate:
            busy = self._current is not None and not self._current.background
            return self.state is State.LOADING or busy or self._queue.requests > 0

    @property
    def queued(self) -> int:
        with self._gate:
            return self._queue.requests

    def start(self) -> None:
        self.state = State.LOADING
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue `job`; an older one of the same client and document is cancelled, running or not."""
        with self._gate:
            self.used = time.monotonic()
            older = self._queue.push(job)
            current = self._current
            self._gate.notify()
        if older:
            older.finish(None, CancelledError("A newer request of the document took its place."))
        same = current and job.document and (current.client, current.document) == (job.client, job.document)
        if current and same and not job.background:
            self.cancel(current)

    def cancel(self, job: Job) -> None:
        """Answer `job` as cancelled at once; what runs of it ends within a step. The load goes on."""
        job.token.cancel()
        with self._gate:
            self._queue.remove(job)
        job.finish(None, CancelledError("The request was cancelled."))

    def give_way(self) -> None:
        """Abandon what nobody waits for: a measurement in a pause, a completion ahead of its request."""
        current = self._current
        if current is not None and current.background and not current.token.is_set:
            self.abandoned += current.task is Task.MEASURE
            self.cancel(current)

    def study(self) -> None:
        """Have the engine read what was taught, as soon as there is nothing else to do."""
        with self._gate:
            self._lessons = True
            self._gate.notify()

    def close(self) -> None:
        """Let the thread end after the requests it has; `closed` tells when the memory is free.

        What nobody waits for is cancelled, running or not: the memory is wanted.
        """
        with self._gate:
            self._closing = True
            unwanted = self._queue.clear_background()
            self._gate.notify()
        for job in unwanted:
            self.cancel(job)
        self.give_way()
        if self.state is State.WAITING:
            self.state = State.CLOSED

    def abort(self) -> None:
        """Cancel everything and close."""
        with self._gate:
            jobs = self._queue.clear()
            current = self._current
        for job in (*jobs, *([current] if current else [])):
            self.cancel(job)
        self.close()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end; whether it did."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def stuck(self, limit: float) -> bool:
        """Whether the running job has made no step for `limit` seconds, going by the calls of this."""
        current = self._current
        seen = (current, current.token.steps if current else 0)
        now = time.monotonic()
        if current is None or seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at > limit

    def _run(self) -> None:
        self._report(Phase.LOADING, self.model.name)
        try:
            engine = self._open(self.model, self._on_loading)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the load with an answer
            failure = _as_error(error, ModelLoadError(f"The model {self.model.name} cannot be loaded."))
            self._post(lambda: self._listener.failed(self, failure))
            return
        self._report(Phase.FIRST_DECODE, self.model.name)
        self._note(engine)
        self._post(self._on_loaded)
        while (job := self._take(engine)) is not None:
            self._serve(engine, job)
        engine.close()
        self._post(self._on_closed)

    def _take(self, engine: ServedEngine) -> Job | None:
        """The next job; while there is none, the engine studies, a slice at a time. None at the end."""
        while True:
            with self._gate:
                while not len(self._queue) and not self._closing and not self._lessons:
                    self._gate.wait()
                if len(self._queue) or self._closing:
                    self._current = self._queue.pop()
                    return self._current
                self._lessons = False
            self._study(engine)

    def _study(self, engine: ServedEngine) -> None:
        """One slice; a failure ends the study until there are other lessons, and nothing else."""
        try:
            more = engine.study()
        except Exception as failure:  # noqa: BLE001 - what was taught must not end the worker
            _as_error(failure, BackendError("What was taught could not be read."))
            return
        if more:
            with self._gate:
                self._lessons = True

    def _serve(self, engine: ServedEngine, job: Job) -> None:
        value: Any = None
        error: VeloSpecError | None = None
        try:
            value = self._perform(engine, job)
        except Exception as failure:  # noqa: BLE001 - whatever it is, the request gets an answer
            error = _as_error(failure, BackendError("The engine failed.", "See `velospec daemon log`."))
        if isinstance(value, Completion):
            self.statistics += value.statistics
            if not self.answered:
                self._report(Phase.SERVING, self.model.name)
            self.answered += 1
        self._note(engine)
        if job.task is Task.MEASURE and job.background and not error and not self.description["measured"]:
            self.abandoned += 1
        with self._gate:
            self._current = None
            self.used = time.monotonic()
        self._post(lambda: self._on_done(job, value, error))

    def _perform(self, engine: ServedEngine, job: Job) -> Any:
        if job.token.is_set:
            raise CancelledError("The request was cancelled.")
        on_text = self._stream(job) if job.on_text else None
        if isinstance(job.request, InfillRequest):
            return engine.infill(job.request, job.token, on_text)
        if isinstance(job.request, TextRequest):
            return engine.generate(job.request, job.token, on_text)
        if job.task is Task.MEASURE:
            return engine.measure(self._on_measuring, job.token)
        return None

    def _stream(self, job: Job) -> OnText:
        def send(text: str) -> None:
            self._post(lambda: job.on_text(text) if job.on_text and not job.finished else None)

        return send

    def _note(self, engine: ServedEngine) -> None:
        self.memory_bytes = engine.memory_bytes
        self.description = engine.describe()

    def _on_loading(self, fraction: float) -> None:
        """Pass on what a person can see: llama.cpp tells of each tensor."""
        now = time.monotonic()
        if 0.0 < fraction < 1.0 and now - self._told_at < _TELL_SECONDS:
            return
        self._told_at = now
        self._post(lambda: self._listener.loading(self, fraction))

    def _on_measuring(self, fraction: float) -> None:
        self._post(lambda: self._listener.measuring(self, fraction))

    def _on_loaded(self) -> None:
        if self.state is State.LOADING:
            self.state = State.READY
        self._listener.loaded(self)

    def _on_done(self, job: Job, value: Any, error: VeloSpecError | None) -> None:
        job.finish(value, error)
        self._listener.paused(self)

    def _on_closed(self) -> None:
        self.state = State.CLOSED
        self._listener.closed(self)


def _as_error(error: Exception, otherwise: VeloSpecError) -> VeloSpecError:
    """`error` if it is meant for users; else `otherwise`, and the log gets its kind and place.

    Not its message, which may hold source text.
    """
    if isinstance(error, VeloSpecError):
        return error
    log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return otherwise
