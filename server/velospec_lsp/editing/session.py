"""Which edits run: one for each document, the newest; a change of its document ends it.

Knows nothing of what an edit does, nor of the protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from velospec_lsp.completion.arbiter import Arbiter
from velospec_lsp.documents import Document
from velospec_lsp.editing.source import Source

_CHANGED = "The document was changed meanwhile."
_CHANNEL = "edit"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an edit. `message` is one sentence; `told` says that the user knows the reason already."""

    applied: bool
    message: str
    suggestion: str = ""
    told: bool = False


@dataclass(eq=False)
class Running:
    """An edit under way. Once `applying`, nothing stops it: the editor has been asked to make the changes."""

    source: Source
    applying: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)  # set with each change of the document
    _task: asyncio.Task[Outcome] | None = None
    _stopped: Outcome | None = None

    def stop(self, reason: str, *, told: bool = False) -> None:
        """End it with `reason`, if it is not too late."""
        if self._task is not None and not self.applying and self._stopped is None:
            self._stopped = Outcome(applied=False, message=reason, told=told)
            self._task.cancel()

    async def run(self, work: Callable[[Running], Awaitable[Outcome]]) -> Outcome:
        """The outcome of `work`, or of what stopped it."""
        self._task = asyncio.current_task()
        try:
            return await work(self)
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
            return self._stopped


class Edits:
    """The edits of one editor. Use from one event loop only."""

    def __init__(self) -> None:
        self._arbiter: Arbiter[Outcome] = Arbiter()
        self._running: dict[str, Running] = {}

    def start(
        self, source: Source, work: Callable[[Running], Awaitable[Outcome]]
    ) -> asyncio.Future[Outcome | None]:
        """The outcome to come: None where a newer edit took this one's place, or the document was closed.

        Cancelling the returned future ends the edit.
        """
        uri = source.document.uri
        running = Running(source)
        answer = self._arbiter.submit(_CHANNEL, uri, running, lambda: running.run(work))
        self._running[uri] = running
        answer.add_done_callback(lambda _: self._forget(uri, running))
        return answer

    def changed(self, document: Document) -> None:
        """The client has changed `document`: an edit of what it was before is void."""
        running = self._running.get(document.uri)
        if running is None:
            return
        running.news.set()
        if Source.of(document).text != running.source.text:
            running.stop(_CHANGED)

    def withdraw(self, uri: str | None = None) -> None:
        """End the edit of `uri` (all of them if None)."""
        self._arbiter.withdraw(uri)

    def _forget(self, uri: str, running: Running) -> None:
        if self._running.get(uri) is running:
            del self._running[uri]
