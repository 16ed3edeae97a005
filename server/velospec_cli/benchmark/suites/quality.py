"""`velospec benchmark quality`: what the language server would show at cursors in real files, and how good.

Each place goes through the language server's own pipeline, with an engine in this process in place of the
daemon, twice: with the quiet gate open, which gives the curve, and as it is set by default. The model is
asked once for each question; times are not measured here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from velospec import CancelToken, Engine
from velospec.core.errors import VeloSpecError
from velospec.core.request import Completion, InfillRequest
from velospec_cli.benchmark.suites.quality_places import Place
from velospec_cli.benchmark.suites.quality_score import (
    Change,
    is_begun_right,
    is_right,
    is_unbalanced,
    repeats,
    survival,
)
from velospec_lsp.completion.offer import Offer, Silence
from velospec_lsp.completion.pipeline import Pipeline
from velospec_lsp.completion.site import Query
from velospec_lsp.completion.trace import Trace
from velospec_lsp.completion.work import Work
from velospec_lsp.documents import Document
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.settings import Settings
from velospec_lsp.text import Place as At
from velospec_lsp.text import Text

_TIME = 60_000  # milliseconds that the model may take: how fast it is does not count here
SETTINGS = replace(Settings(), budget_ms=_TIME)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one place; JSON-ready, without any text."""

    place: str
    kind: str
    language: str
    bare: bool | None  # whether the first line of the model's answer is right; None where there is no answer
    open: dict[str, Any] | None  # the offer with the gate open, judged; None for silence
    shown: dict[str, Any] | None  # the offer by default
    stage: str  # the last one by default
    confidence: float | None  # of the quiet gate, 0 to 1


class Direct:
    """Answers from an engine in this process, and from what it has answered already."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._answers: dict[InfillRequest, Completion] = {}
        self.last: Completion | None = None

    async def infill(self, request: InfillRequest, **_options: object) -> Completion:
        """The engine's answer, whole and of its own model; raises VeloSpecError."""
        if request not in self._answers:
            self._answers[request] = self._engine.infill(request, CancelToken())
        self.last = self._answers[request]
        return self.last

    def forget(self) -> None:
        """Begin with another place."""
        self._answers.clear()
        self.last = None


class Judge:
    """Takes places through a pipeline and judges what comes out."""

    def __init__(self, infiller: Direct, settings: Settings = SETTINGS) -> None:
        self._infiller = infiller
        self._settings = settings
        self.work: Work | None = None  # of the last place, with the gate open

    async def row(self, place: Place) -> Row:
        """What comes of `place`. Raises VeloSpecError where the model cannot be asked."""
        self._infiller.forget()
        trace, seen = Trace(), list[Work]()
        free = await self._run(place, replace(self._settings, min_confidence=0), Trace(), seen.append)
        self.work = seen[0] if seen else None
        shown = await self._run(place, self._settings, trace, seen.append)
        answer = self._infiller.last
        return Row(
            place.name,
            place.kind,
            place.language,
            None if answer is None else _bare_is_right(answer.text, place),
            judged(free, place),
            judged(shown, place),
            trace.last,
            None if self.work is None or self.work.confidence is None else round(self.work.confidence, 4),
        )

    async def _run(
        self, place: Place, settings: Settings, trace: Trace, look: Callable[[Work], None]
    ) -> Offer | None:
        pipeline = Pipeline(self._infiller, _fail)
        pipeline.settings = settings
        pipeline.stages = (*pipeline.stages[:-1], ("look", look), pipeline.stages[-1])
        outcome = await pipeline.complete(_query(place), trace)
        return None if isinstance(outcome, Silence) else outcome[0]


def judged(offer: Offer | None, place: Place) -> dict[str, Any] | None:
    """An offer's marks, JSON-ready."""
    if offer is None:
        return None
    change = _laid_over(offer, place)
    return {
        "right": is_right(change, place),
        "begun": is_begun_right(offer.text, place),
        "survival": round(survival(change, place), 3),
        "repeats": repeats(change, place),
        "unbalanced": is_unbalanced(change, place),
        "lines": offer.text.count("\n") + 1,
    }


def _bare_is_right(text: str, place: Place) -> bool | None:
    """Whether the first line that the model wrote is right as it stands, with or without the closers."""
    if not text.strip():
        return None
    line, true = text.partition("\n")[0].rstrip(), place.truth.partition("\n")[0].rstrip()
    return line in (true, true.removesuffix(place.closers))


def _query(place: Place) -> Query:
    line = place.before.count("\n")
    index = len(place.before) - place.before.rfind("\n") - 1
    path = place.name.rsplit(":", 2)[0]
    text = Text.of(place.before + place.after)
    return Query(
        Document(f"file:///project/{path}", place.language, 1, text, PositionEncoding.UTF16), At(line, index)
    )


def _laid_over(offer: Offer, place: Place) -> Change:
    begun = place.before[place.before.rfind("\n") + 1 :]
    start, end = len(begun) - offer.start.index, offer.end.index - len(begun)
    return Change(place.before[: len(place.before) - start], offer.text, place.after[end:])


def _fail(error: VeloSpecError) -> None:
    raise error
