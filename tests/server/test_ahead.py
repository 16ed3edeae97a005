"""What is prepared ahead, without a server: when it is tried, and what keeps it off."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from velospec.core.request import Completion, FinishReason, InfillRequest
from velospec.core.statistics import Statistics
from velospec_lsp.completion import prefetch as module
from velospec_lsp.completion.offer import Offer
from velospec_lsp.completion.pipeline import Pipeline
from velospec_lsp.completion.prefetch import Battery, Prefetch, accept
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Document, Documents
from velospec_lsp.settings import Settings
from velospec_lsp.text import Place

URI = "file:///project/a.py"


@dataclass
class Model:
    """Answers by the end of the prefix, and keeps what it was asked."""

    answers: dict[str, str]
    asked: list[InfillRequest] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def infill(
        self,
        request: InfillRequest,
        *,
        model: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        assert model is None
        self.asked.append(request)
        await self.gate.wait()
        text = next((text for end, text in self.answers.items() if request.prefix.endswith(end)), "")
        if on_text is not None:
            on_text(text)
        return Completion(text, tuple(range(len(text))), FinishReason.END, Statistics())


@dataclass
class Desk:
    """A pipeline with a model of written answers, and what works ahead for it."""

    model: Model
    pipeline: Pipeline
    prefetch: Prefetch
    battery: SimpleNamespace
    document: Document

    @property
    def ahead(self) -> list[str]:
        return [request.prefix for request in self.model.asked if request.background]

    async def offered(self) -> None:
        query = Query(self.document, Place(0, 4))
        self.prefetch.answered(query, await self.pipeline.complete(query))


def in_loop(test: Callable[[Desk], Coroutine[Any, Any, None]]) -> Callable[[pytest.MonkeyPatch], None]:
    def run(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_READING_SECONDS", 0.0)
        monkeypatch.setattr(module, "_IDLE_SECONDS", 0.0)

        async def main() -> None:
            model = Model({"x = ": "one()", "x = one()": " + 2  # note", "# no": "te"})
            model.gate.set()
            pipeline, battery = Pipeline(model, lambda _error: None), SimpleNamespace(used=False)
            prefetch = Prefetch(pipeline, lambda: battery.used)
            document = Documents().open(URI, "python", 1, "x = \n")
            await test(Desk(model, pipeline, prefetch, battery, document))

        asyncio.run(main())

    run.__name__ = test.__name__  # what pytest shows
    return run


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)


@in_loop
async def test_one_step_ahead_and_once(desk: Desk) -> None:
    for _ in range(3):
        await desk.offered()
        await settle()
    assert desk.ahead == ["x = one()"]
    assert len(desk.model.asked) == 2


@in_loop
async def test_what_was_stopped_is_tried_again(desk: Desk) -> None:
    await desk.offered()
    desk.model.gate.clear()
    await settle()
    desk.pipeline.running.stop_ahead()
    await settle()
    desk.model.gate.set()
    await desk.offered()
    await settle()
    assert desk.ahead == ["x = one()"] * 2


@in_loop
async def test_on_battery_it_rests(desk: Desk) -> None:
    desk.battery.used = True
    await desk.offered()
    await settle()
    desk.prefetch.opened(desk.document)
    await settle()
    assert desk.ahead == []


@in_loop
async def test_it_waits_for_no_request_that_runs(desk: Desk) -> None:
    await desk.offered()
    desk.model.gate.clear()
    other = Query(Documents().open("file:///project/b.py", "python", 1, "y = "), Place(0, 4))
    running = asyncio.ensure_future(desk.pipeline.complete(other))
    await settle()
    assert desk.ahead == []
    desk.model.gate.set()
    await running


@in_loop
async def test_nothing_is_prepared_in_a_scope_that_is_switched_off(desk: Desk) -> None:
    document = Documents().open(URI, "python", 1, "x = 1  # \n")
    query = Query(document, Place(0, 8))
    for number, disabled in enumerate([("comment",), ()]):
        desk.pipeline.settings = Settings(disabled_scopes=disabled)
        desk.prefetch.answered(query, (Offer(f"v9{number}", " no", Place(0, 8), Place(0, 8)),))
        await settle()
        assert len(desk.model.asked) == number


def test_acceptance_is_what_an_editor_would_make_of_it() -> None:
    document = Documents().open(URI, "python", 1, "print()\nend\n")
    query = accept(document, Offer("v1", "(a,\n    b)", Place(0, 5), Place(0, 7)))
    assert str(query.document.text) == "print(a,\n    b)\nend\n"
    assert query.cursor == Place(1, 6)


@pytest.mark.parametrize(
    ("state", "rests"),
    [
        (None, False),
        (SimpleNamespace(power_plugged=True), False),
        (SimpleNamespace(power_plugged=None), False),
        (SimpleNamespace(power_plugged=False), True),
    ],
)
def test_the_battery_is_looked_at_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, state: SimpleNamespace | None, rests: bool
) -> None:
    looks = itertools.count()
    monkeypatch.setattr(psutil, "sensors_battery", lambda: state if next(looks) >= 0 else None, raising=False)
    now = 0.0
    battery = Battery(lambda: now)
    assert [battery.discharging(), battery.discharging()] == [rests, rests]
    now = 59.0
    battery.discharging()
    now = 60.0
    battery.discharging()
    assert next(looks) == 2


def test_where_nothing_tells_of_a_battery_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert not Battery().discharging()
