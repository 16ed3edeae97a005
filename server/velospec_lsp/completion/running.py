"""The completions under way, so that a request can wait for what another one has the model write already.

While the user types along what is being written, it goes on, though the request it was made for is superseded
or cancelled; the one after that waits for it. As soon as the typed text differs, it is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from velospec_lsp.completion.cache import Written
from velospec_lsp.completion.closers import CLOSERS
from velospec_lsp.completion.site import Query, Site, site_of
from velospec_lsp.events import Edit
from velospec_lsp.text import Place, behind, split_lines, to_lf

_LINGER = 1.0  # seconds that a run goes on without anyone who waits for it

T = TypeVar("T")


@dataclass(eq=False)
class Run:
    """One completion under way. An `ahead` one is for a request to come: nobody waits for it yet."""

    query: Query
    ahead: bool = False
    reads: bool = False  # the model only reads the prompt, and writes nothing
    task: asyncio.Task[Any] | None = None
    written: Written | None = None  # by the model, so far; None before it is asked
    followed: bool = False  # the user has typed some of it
    waiting: int = 1

    def hear(self, text: str) -> None:
        """The model has written `text`, behind what it wrote before."""
        if self.written is not None:
            self.written = Written(self.written.prefix, self.written.suffix, self.written.text + text)

    def leads_to(self, site: Site) -> bool:
        """Whether the user came to `site` by typing the beginning, if anything, of what is being written."""
        if self.written is None:
            return False
        return self.written.typed_at(site, 0) or self.written.typed(site) is not None

    def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Running:
    """Which completion the model writes for each document. Use from one event loop only."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}  # those that have asked the model, by URI

    @property
    def busy(self) -> bool:
        """Whether the model writes for a request."""
        return any(not run.ahead for run in self._runs.values())

    async def complete(self, run: Run, work: Coroutine[Any, Any, T]) -> T | None:
        """What `work` comes to, done as `run`; None where it was stopped.

        It may go on where the caller is cancelled.
        """
        task = run.task = asyncio.ensure_future(work)
        task.add_done_callback(lambda _: self._ended(run))
        try:
            await asyncio.wait([task])
        finally:
            self._left(run)
        return None if task.cancelled() else task.result()

    async def follow(self, query: Query, site: Site) -> bool:
        """Wait until what the model writes for `site` already has been written; False if it does not."""
        run = self._runs.get(query.document.uri)
        if run is None or run.task is None or run.reads or not run.leads_to(site):
            return False
        if query.manual and not run.query.manual:
            return False  # which has more time than what is written by itself
        run.waiting += 1
        run.ahead = False
        try:
            await asyncio.wait([run.task])
        finally:
            self._left(run)
        return True

    def ask(self, run: Run, site: Site) -> bool:
        """`run` is about to ask the model at `site`: those that it takes the place of are stopped.

        A run ahead gives way to all others: False tells that it must not ask.
        """
        if run.ahead and self.busy:
            return False
        self.stop_ahead()
        older = self._runs.get(run.query.document.uri)
        if older is not None:
            older.stop()
        self._runs[run.query.document.uri] = run
        run.written = Written(site.prefix, site.suffix, "")
        return True

    def stop(self) -> None:
        """Stop all of it, what goes on without anyone who waits for it too."""
        for run in self._runs.values():
            run.stop()

    def stop_ahead(self) -> None:
        """Stop what nobody waits for."""
        for run in self._runs.values():
            if run.ahead:
                run.stop()

    def edited(self, edit: Edit, prefix_chars: int, suffix_chars: int) -> None:
        """A document has changed: what is written for it goes on only if the user types along it."""
        run = self._runs.get(edit.after.uri)
        if run is None or run.ahead:
            return
        queries = [Query(edit.after, place) for place in cursors_after(edit)]
        sites = [site_of(query, prefix_chars, suffix_chars) for query in queries]
        if any(site is not None and run.leads_to(site) for site in sites):
            run.followed = True
        else:
            run.stop()

    def _left(self, run: Run) -> None:
        run.waiting -= 1
        if run.waiting or run.task is None or run.task.done():
            return
        if run.followed:
            asyncio.get_running_loop().call_later(_LINGER, _stop_if_left, run)
        else:
            run.stop()

    def _ended(self, run: Run) -> None:
        if self._runs.get(run.query.document.uri) is run:
            del self._runs[run.query.document.uri]
        if run.task is not None and not run.task.cancelled():
            run.task.exception()  # whoever still waits for it has asked; nobody may be left


def _stop_if_left(run: Run) -> None:
    if not run.waiting:
        run.stop()


def cursors_after(edit: Edit) -> list[Place]:
    """Where the cursor may be after `edit`: behind what was inserted last, or before closers at its end."""
    document, change = edit.after, edit.changes[-1] if edit.changes else None
    if change is None or change.start is None:
        return []
    inserted = to_lf(split_lines(change.text))
    end = document.text.clamp(behind(document.place(change.start), inserted))
    closers = len(inserted) - len(inserted.rstrip("".join(CLOSERS)))
    return [Place(end.line, end.index - back) for back in range(closers + 1)]
