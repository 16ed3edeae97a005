"""Which request of a document is worked on: the newest, and only that one.

A superseded request is answered None at the moment the newer one arrives, since some editors cancel nothing
while the user types and show a late answer all the same. Two requests for the same place share one run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(eq=False)
class _Run(Generic[T]):
    key: object
    task: asyncio.Future[T]
    waiting: set[asyncio.Future[T | None]] = field(default_factory=set)


class Arbiter(Generic[T]):
    """Runs the work of the newest request of each document. Use from one event loop only."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run[T]] = {}
        self._newest: dict[tuple[str, str], asyncio.Future[T | None]] = {}

    def submit(
        self, channel: str, document: str, key: object, work: Callable[[], Awaitable[T]]
    ) -> asyncio.Future[T | None]:
        """The answer to come: what `work` returns, or None once a newer request takes this one's place.

        A request supersedes those of the same `document` that were made for another `key` (the place and
        the snapshot), and those of the same `channel` (the method) in any case. Cancelling the returned
        future, when no other request waits for the same run, cancels the run.
        """
        run = self._runs.get(document)
        if run is None or run.task.done() or run.key != key:
            replaced, run = run, _Run(key, asyncio.ensure_future(work()))
            self._runs[document] = run
            run.task.add_done_callback(lambda _: self._finish(document, run))
            if replaced is not None:
                _answer_none(replaced.waiting)
                replaced.task.cancel()
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        run.waiting.add(answer)
        older = self._newest.get((channel, document))
        self._newest[channel, document] = answer
        if older is not None:
            _answer_none({older})
        answer.add_done_callback(lambda _: self._leave(channel, document, run, answer))
        return answer

    def withdraw(self, document: str | None = None) -> None:
        """Answer None to what waits for `document` (for everything if None) and stop the work."""
        for name, run in list(self._runs.items()):
            if document in (None, name):
                _answer_none(run.waiting)
                run.task.cancel()

    def _leave(self, channel: str, document: str, run: _Run[T], answer: asyncio.Future[T | None]) -> None:
        run.waiting.discard(answer)
        if self._newest.get((channel, document)) is answer:
            del self._newest[channel, document]
        if not run.waiting:
            run.task.cancel()

    def _finish(self, document: str, run: _Run[T]) -> None:
        if self._runs.get(document) is run:
            del self._runs[document]
        if run.task.cancelled():
            _answer_none(run.waiting)
            return
        error = run.task.exception()
        for answer in list(run.waiting):
            if answer.done():
                continue
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(run.task.result())


def _answer_none(answers: set[asyncio.Future[T | None]]) -> None:
    for answer in list(answers):
        if not answer.done():
            answer.set_result(None)
