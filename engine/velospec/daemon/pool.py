"""The models in memory: by name and role, within a memory budget, the least recently used leaving first.

Lives in the thread of the event loop. A model in use is never unloaded: a model that needs its place waits.
Knows nothing of sockets or frames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from velospec.core.errors import DaemonError, ModelLoadError, ModelNotFoundError, VeloSpecError
from velospec.daemon.codec import to_plain
from velospec.daemon.jobs import Job, Task
from velospec.daemon.protocol import Event, EventKind
from velospec.daemon.worker import Post, State, Worker
from velospec.models.memory import available_memory

if TYPE_CHECKING:
    from velospec.daemon.exit_record import Phase
    from velospec.daemon.served_engine import OpenEngine
    from velospec.models.store import InstalledModel

_SHARE = 0.75  # of the memory available when the daemon starts


class Models(Protocol):
    """What the pool needs of `models.store.ModelStore`."""

    def get(self, name: str) -> InstalledModel: ...
    def default(self, role: str) -> InstalledModel | None: ...


@dataclass(frozen=True, slots=True)
class PoolHooks:
    """Where the pool's news go. `post` runs a function in the event loop's thread, from any thread."""

    post: Post
    notify: Callable[[Event], None]
    report: Callable[[Phase, str], None]
    changed: Callable[[], None]  # some work has begun or ended


def default_budget() -> int:
    """Bytes for all models together, where the user has set none."""
    return int(available_memory() * _SHARE)


class ModelPool:
    """Hands jobs to the worker of their model, loading and unloading models as needed."""

    def __init__(self, models: Models, open_engine: OpenEngine, budget: int, hooks: PoolHooks) -> None:
        """`budget` in bytes."""
        self._models = models
        self._open = open_engine
        self._budget = budget
        self._hooks = hooks
        self._workers: dict[str, Worker] = {}  # by model name, in the order of loading
        self._leaving: set[Worker] = set()
        self._unloads: list[tuple[str, Callable[[], None]]] = []  # by model name: whom to tell of its end
        self._jobs: dict[Job, Worker] = {}

    @property
    def workers(self) -> list[Worker]:
        return [*self._workers.values(), *self._leaving]

    @property
    def working(self) -> bool:
        """Whether any request is queued or running or any model loading; what nobody waits for is not."""
        return any(worker.working for worker in self.workers)

    def submit(self, job: Job, name: str | None) -> None:
        """Queue `job` for the model `name`, or the default one of its role. Raises VeloSpecError."""
        worker = self._worker(self._resolve(name, job.task))
        for other in self.workers if not job.background else ():
            other.give_way()
        if job.task is Task.LOAD and worker.state is State.READY:
            job.finish(None)
            return
        self._jobs[job] = worker
        worker.submit(job)
        self._start_waiting()
        self._hooks.changed()

    def cancel(self, job: Job) -> None:
        """Cancel `job`; one that has ended is no error."""
        worker = self._jobs.pop(job, None)
        if worker:
            worker.cancel(job)

    def unload(self, name: str, done: Callable[[], None]) -> None:
        """Take a model out of memory; `done` is called when its memory is free, at once if it is not loaded.

        Raises DaemonError if it is in use.
        """
        worker = self._workers.get(name)
        if worker:
            if worker.working:
                raise DaemonError(f"The model {name} is in use.", "Try again when it is idle.")
            self._dismiss(worker)
        self._unloads.append((name, done))
        self._answer_unloads()

    def measure_in_pause(self, quiet: float, patience: float) -> None:
        """Measure a model that has answered but is not measured yet, after `quiet` seconds without work.

        It takes `patience` seconds of quiet, and twice as many after each measurement that had to give way:
        each one empties the model's cache.
        """
        if self.working or self._leaving:
            return
        for worker in self._workers.values():
            due = worker.answered and not worker.description["measured"] and not worker.in_use
            if due and quiet >= patience * 2 ** min(worker.abandoned, 5):
                worker.submit(Job(0, Task.MEASURE, lambda _value, _error: None, background=True))
                return

    def study(self) -> None:
        """Something new was taught: have the models read it in their pauses."""
        for worker in self._workers.values():
            worker.study()

    def stuck(self, limit: float) -> str | None:
        """The name of a model whose job made no step for `limit` seconds, or None."""
        flags = [(worker.model.name, worker.stuck(limit)) for worker in self.workers]
        return next((name for name, stuck in flags if stuck), None)

    def status(self) -> list[dict[str, Any]]:
        """One map per model in memory."""
        return [_status(worker) for worker in self._workers.values()]

    def abort(self) -> None:
        """Cancel everything and close all models."""
        for worker in self.workers:
            worker.abort()

    def _resolve(self, name: str | None, task: Task) -> InstalledModel:
        if name is not None:
            return self._models.get(name)
        roles = ("chat", "completion") if task is Task.GENERATE else ("completion", "chat")
        for role in roles if task is not Task.INFILL else roles[:1]:
            model = self._models.default(role)
            if model:
                return model
        raise ModelNotFoundError("No model is installed.", "Install one: `velospec model install`.")

    def _worker(self, model: InstalledModel) -> Worker:
        worker = self._workers.get(model.name)
        if worker and not _same(worker.model, model):
            self._dismiss(worker)
            worker = None
        if worker is None:
            worker = Worker(model, self._open, self, self._hooks.post, self._hooks.report)
            if worker.memory_bytes > self._budget:
                raise self._too_large(worker)
            self._workers[model.name] = worker
        return worker

    def _too_large(self, worker: Worker) -> ModelLoadError:
        need, budget = worker.memory_bytes >> 20, self._budget >> 20
        return ModelLoadError(
            f"The model {worker.model.name} needs about {need} MiB of memory; {budget} MiB are set aside.",
            "Choose a smaller model, or set VELOSPEC_MEMORY_BUDGET (bytes) and run `velospec daemon stop`.",
        )

    def _start_waiting(self) -> None:
        """Start the workers that wait for memory, in order, as far as there is room or room can be made."""
        for worker in list(self._workers.values()):
            if worker.state is not State.WAITING:
                continue
            others = [other for other in self.workers if other.state is not State.WAITING]
            excess = sum(other.memory_bytes for other in others) + worker.memory_bytes - self._budget
            if excess <= 0:
                worker.start()
                continue
            excess -= sum(other.memory_bytes for other in self._leaving)  # on their way out already
            idle = (other for other in others if other not in self._leaving and not other.working)
            for victim in sorted(idle, key=lambda other: other.used):
                if excess <= 0:
                    break
                excess -= victim.memory_bytes
                self._dismiss(victim)
            return  # those behind it wait too, else a large model would starve

    def _dismiss(self, worker: Worker) -> None:
        del self._workers[worker.model.name]
        if worker.state is State.WAITING:
            worker.abort()
            return
        worker.close()
        self._leaving.add(worker)

    def _answer_unloads(self) -> None:
        leaving = {worker.model.name for worker in self._leaving}
        unloads, self._unloads = self._unloads, []
        for name, done in unloads:
            if name in leaving:
                self._unloads.append((name, done))
            else:
                done()

    def _drop_finished(self) -> None:
        self._jobs = {job: worker for job, worker in self._jobs.items() if not job.finished}

    # What the workers tell, in the thread of the event loop.

    def loading(self, worker: Worker, fraction: float) -> None:
        self._hooks.notify(
            Event(EventKind.LOADING, f"Loading {worker.model.name}", worker.model.name, fraction)
        )

    def loaded(self, worker: Worker) -> None:
        self._hooks.notify(Event(EventKind.READY, f"{worker.model.name} is ready", worker.model.name))
        self.paused(worker)

    def failed(self, worker: Worker, error: VeloSpecError) -> None:
        worker.state = State.CLOSED
        for job in [job for job, owner in self._jobs.items() if owner is worker]:
            job.finish(None, error)
        self._leaving.discard(worker)
        if self._workers.get(worker.model.name) is worker:
            del self._workers[worker.model.name]
        self.paused(worker)

    def measuring(self, worker: Worker, fraction: float) -> None:
        self._hooks.notify(
            Event(EventKind.MEASURING, f"Measuring {worker.model.name}", worker.model.name, fraction)
        )

    def paused(self, worker: Worker) -> None:
        notice = str(worker.description.get("notice", ""))
        if notice and notice != worker.told_notice:
            self._hooks.notify(Event(EventKind.MESSAGE, notice, worker.model.name))
        worker.told_notice = notice
        self._drop_finished()
        self._answer_unloads()
        self._start_waiting()
        self._hooks.changed()

    def closed(self, worker: Worker) -> None:
        self._leaving.discard(worker)
        self.paused(worker)


def _same(loaded: InstalledModel, installed: InstalledModel) -> bool:
    """Whether what is in memory is what is installed now."""
    return (loaded.path, loaded.sha256, loaded.infill) == (installed.path, installed.sha256, installed.infill)


def _status(worker: Worker) -> dict[str, Any]:
    statistics = worker.statistics
    return {
        "name": worker.model.name,
        "roles": list(worker.model.roles),
        "state": "busy" if worker.state is State.READY and worker.working else str(worker.state),
        "memory_bytes": worker.memory_bytes,
        "requests": worker.answered,
        "queued": worker.queued,
        "statistics": {
            **to_plain(statistics),
            "tokens_per_second": round(statistics.tokens_per_second, 1),
            "acceptance_rate": round(statistics.acceptance_rate, 3),
            "tokens_per_step": round(statistics.tokens_per_step, 2),
        },
        **worker.description,
    }
