"""`velospec benchmark latency`: how long an editor waits, from request to item, measured over the wire.

The installed language server is driven as an editor drives it, with the real daemon and model. At places of
the suite `completion` a file is opened; then its author's own text is typed, one character at a time, with a
request after each; where the model was asked, a rival gets the same request on the same text in turn. Then a
few characters of what is offered are typed, and at last a request is superseded while the model works on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from velospec.models.progress import Progress
from velospec.models.store import InstalledModel
from velospec_cli.benchmark.machine import describe_host, describe_versions, load
from velospec_cli.benchmark.suites import completion
from velospec_cli.benchmark.suites.latency_figures import Kind, Row, summarize
from velospec_cli.benchmark.suites.latency_rival import Rival
from velospec_cli.demo_client import Answer, EditorSession

_KEYS = 8  # of the author's text that are typed at a place
_THROUGH = 3  # of the offered text
_BETWEEN = 0.02  # seconds after which a request is superseded
_SETTLE = 0.1  # seconds that either side gets to end what it does when nobody waits


_COUNTS = ("prompt_tokens", "reused_tokens", "new_tokens", "steps")
"""What a row takes of what `velospec.why` tells about the model."""


@dataclass(frozen=True, slots=True)
class Place:
    """A cursor in a file: what stands before and behind it, and what its author wrote there."""

    name: str
    before: str
    author: str
    behind: str


@dataclass(slots=True)
class Desk:
    """One document in the editor and what is typed into it. Offsets are characters."""

    session: EditorSession
    place: Place
    file: str
    text: str
    index: int

    @classmethod
    def open(cls, session: EditorSession, place: Place, number: int) -> Desk:
        file = f"{number}/{Path(place.name.partition(':')[0]).name}"
        text = place.before + place.behind
        session.open(file, "python", text)
        return cls(session, place, file, text, len(place.before))

    def type(self, char: str) -> None:
        self.session.type(self.file, self.index, char)
        self.text = self.text[: self.index] + char + self.text[self.index :]
        self.index += len(char)

    async def ask(self) -> tuple[Answer, Row]:
        """A request at the cursor. The row is warm or typed, by whether the model was asked."""
        answer = await self.session.ask(self.file, self.index, by_hand=False)
        counts = await self.session.model_counts(self.file)
        kind = Kind.WARM if counts else Kind.TYPED
        told = {name: counts[name] for name in _COUNTS if name in counts}
        row = Row(self.place.name, kind, 1000 * answer.seconds, bool(answer.text), int(bool(counts)), **told)
        return answer, row

    def rest(self, answer: Answer) -> str:
        """What of the offered first line is not in the text yet."""
        column = self.index - (self.text.rfind("\n", 0, self.index) + 1)
        return answer.text[column - answer.start :].partition("\n")[0]


def load_places() -> list[Place]:
    """Places of the suite `completion`, spread over its files. Raises VeloSpecError."""
    texts: dict[str, str] = {}
    places = []
    for prompt in completion.load():
        library, _, inner = prompt.path.partition("/")
        if prompt.path not in texts:
            file = completion.find_library(library).root / inner
            texts[prompt.path] = file.read_text("utf-8").replace("\r\n", "\n")
        whole, behind = texts[prompt.path], prompt.after or ""
        author = whole[len(prompt.before) : len(whole) - len(behind)]
        if "\n" not in author[: _KEYS + 1]:  # all keys go into one line
            places.append(Place(prompt.name, prompt.before, author, behind))
    return places


def run_latency(
    model: InstalledModel, count: int, threads: int, say: Progress, deadline: float | None = None
) -> dict[str, Any]:
    """Measure at `count` places, or at as many as fit before `deadline`; the JSON document.

    Raises:
        VeloSpecError: the model, the server or the rival cannot be used.
    """
    places = load_places()
    count = min(count, len(places))
    chosen = [places[number * len(places) // count] for number in range(count)]
    load_before = load()
    rows = asyncio.run(_run(chosen, model, threads, say, deadline))
    return {
        "suite": "latency",
        "machine": describe_host(threads, load_before),
        "versions": describe_versions(("pathspec", "gguf", "pygls")),
        "model": {"name": model.name, "file": model.path.name, "sha256": model.sha256},
        "summary": {"places": len({row.place for row in rows}), **summarize(rows)},
        "rows": [row.to_dict() for row in rows],
    }


async def _run(
    places: Sequence[Place], model: InstalledModel, threads: int, say: Progress, deadline: float | None
) -> list[Row]:
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        say("Starting the language server and the rival", 0, 0)
        session = EditorSession(Path(folder), model.name, lambda _text, _fraction: None)
        async with Rival(model, threads) as rival, session:
            await _warm_up(session, rival, places[0])
            for number, place in enumerate(places):
                say("Typing", number, len(places))
                if rows and deadline is not None and time.monotonic() > deadline:
                    break
                rows += await _visit(Desk.open(session, place, number), rival)
    return rows


async def _warm_up(session: EditorSession, rival: Rival, place: Place) -> None:
    """Have both models loaded and both servers used."""
    desk = Desk.open(session, replace(place, before="import os\n\nx = ", behind="\n"), -1)
    await session.ask(desk.file, desk.index)
    await rival.ask(desk.file, desk.text, desk.index)


async def _visit(desk: Desk, rival: Rival) -> list[Row]:
    """All requests at one place."""
    answer, row = await desk.ask()
    rows = [await _compared(replace(row, kind=Kind.COLD), desk, rival)] if row.model_calls else []
    for char in desk.place.author[:_KEYS]:
        desk.type(char)
        answer, row = await desk.ask()
        if row.model_calls:
            rows.append(await _compared(row, desk, rival))
        elif row.offered:  # else silence by rule: nobody waits for it
            rows.append(row)
    for char in desk.rest(answer)[:-1][:_THROUGH] if answer.text else "":  # not to its end
        desk.type(char)
        _, row = await desk.ask()
        rows.append(replace(row, kind=Kind.TYPED))
    superseded = await _supersede(desk)
    return [*rows, superseded] if superseded else rows


async def _compared(row: Row, desk: Desk, rival: Rival) -> Row:
    await asyncio.sleep(_SETTLE)
    theirs = await rival.ask(desk.file, desk.text, desk.index)
    await asyncio.sleep(_SETTLE)
    return replace(
        row,
        rival_ms=1000 * theirs.seconds,
        rival_line_ms=1000 * theirs.line_seconds,
        rival_tokens=theirs.tokens,
    )


async def _supersede(desk: Desk) -> Row | None:
    """Two requests, the second before the first is answered; None where the first was too quick for that."""
    answered: list[float] = []
    desk.type("q")
    older = asyncio.create_task(desk.session.ask(desk.file, desk.index, by_hand=False))
    older.add_done_callback(lambda _: answered.append(time.perf_counter()))
    await asyncio.sleep(_BETWEEN)
    if older.done():
        return None
    desk.type("z")
    sent = time.perf_counter()
    newer = asyncio.create_task(desk.session.ask(desk.file, desk.index, by_hand=False))
    old = await older
    await newer
    return Row(desk.place.name, Kind.SUPERSEDED, 1000 * (answered[0] - sent), bool(old.text))
