"""Works ahead while the user reads: what will be asked next is ready, or its prompt read, when it is asked.

After an offer comes what follows once it is accepted, one step ahead; where there is nothing to offer, the
text around the cursor is read. All of it gives way to every request, and rests while the machine runs on
its battery.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

import psutil

from velospec_lsp.completion.offer import Offer, Outcome, Silence
from velospec_lsp.completion.pipeline import Pipeline
from velospec_lsp.completion.running import Run, cursors_after
from velospec_lsp.completion.site import Query
from velospec_lsp.completion.trace import Trace
from velospec_lsp.documents import Document
from velospec_lsp.events import Edit, Listener
from velospec_lsp.text import Place, behind

_READING_SECONDS = 0.2  # after an offer: whoever types fast is on the next key by then
_IDLE_SECONDS = 0.5  # after a change or a silence: more than any editor waits before it asks
_BATTERY_SECONDS = 60.0  # between two looks at the battery, which costs time

Ahead = Coroutine[Any, Any, None]


class Prefetch(Listener):
    """Has one thing done ahead at a time, for the document that was worked on last."""

    def __init__(self, pipeline: Pipeline, on_battery: Callable[[], bool] | None = None) -> None:
        self._pipeline = pipeline
        self._on_battery = on_battery or Battery().discharging
        self._waiting: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._used = False  # whether any document was edited or completed
        self._uri = ""  # of the document that something waits or runs for
        self._ahead_of = ""  # the offer whose acceptance is, or was, assumed

    def opened(self, document: Document) -> None:
        if self._used:
            return  # it may only be looked at; its prompt would push out what is worked on
        self._soon(_IDLE_SECONDS, document, partial(self._read, Query(document, Place(0, 0))))

    def edited(self, edit: Edit) -> None:
        self._used = True
        cursor = next(iter(cursors_after(edit)), None)
        if cursor is not None:
            self._soon(_IDLE_SECONDS, edit.after, partial(self._read, Query(edit.after, cursor)))

    def asked(self, query: Query) -> None:
        self._used = True
        if query.document.uri == self._uri:
            self._forget()  # what runs may be just what is asked for
        else:
            self.stop()

    def answered(self, query: Query, outcome: Outcome) -> None:
        if isinstance(outcome, Silence):
            self._soon(_IDLE_SECONDS, query.document, partial(self._read, query))
        elif query.selection is None and outcome[0].id != self._ahead_of:
            self._soon(_READING_SECONDS, query.document, partial(self._accept, query, outcome[0]))

    def closed(self, document: Document) -> None:
        if document.uri == self._uri:
            self.stop()

    def stop(self) -> None:
        """Do nothing more of what was begun."""
        self._forget()
        if self._task is not None:
            self._task.cancel()

    def _soon(self, seconds: float, document: Document, work: Callable[[], Ahead]) -> None:
        """Start `work`, which is about `document`, unless something else happens before."""
        self._forget()
        self._uri = document.uri
        self._waiting = asyncio.get_running_loop().call_later(seconds, self._start, work)

    def _forget(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _start(self, work: Callable[[], Ahead]) -> None:
        if self._pipeline.running.busy or self._on_battery():
            return
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.ensure_future(work())

    async def _read(self, query: Query) -> None:
        """Have the model read the prompt, so that only what is typed until the request comes is new to it."""
        await self._pipeline.complete(query, run=Run(query, ahead=True, reads=True))

    async def _accept(self, query: Query, offer: Offer) -> None:
        """Complete as if `offer` had been accepted; the result is kept where requests look first.

        It also tells how an offer goes on whose end the time has cut off.
        """
        self._ahead_of = offer.id
        accepted = accept(query.document, offer)
        trace = Trace()
        outcome = await self._pipeline.complete(accepted, trace, Run(accepted, ahead=True))
        if isinstance(outcome, Silence):
            if trace.last == "model":  # stopped, or there was no answer: it may be tried again
                self._ahead_of = ""
            return
        cache, following = self._pipeline.cache, outcome[0]
        lines = (offer.text + following.text).count("\n") + 1
        adds = offer.end == query.cursor and following.start == following.end
        if cache.is_cut(offer.id) and adds and lines <= self._pipeline.settings.max_lines:
            cache.extend(offer.id, following.text, cut=cache.is_cut(following.id))


class Battery:
    """Whether the machine runs on its battery, looked at now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked: float | None = None
        self._discharging = False

    def discharging(self) -> bool:
        """As of the last look; False where there is no battery, or no way to tell."""
        if self._looked is None or self._clock() - self._looked >= _BATTERY_SECONDS:
            self._looked = self._clock()
            # Some systems have no such function.
            battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
            self._discharging = battery is not None and battery.power_plugged is False
        return self._discharging


def accept(document: Document, offer: Offer) -> Query:
    """The query behind `offer` once it has been accepted."""
    text = document.text.replace(offer.start, offer.end, offer.text)
    return Query(replace(document, text=text), behind(offer.start, offer.text))
