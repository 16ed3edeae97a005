"""A run of `velospec benchmark quality`: from an installed model to its document."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from velospec import InstalledModel
from velospec.models.progress import Progress
from velospec_cli.benchmark.machine import Watch, describe_machine, describe_model, describe_versions
from velospec_cli.benchmark.opening import Opener, Options
from velospec_cli.benchmark.suites import quality_sources as sources
from velospec_cli.benchmark.suites.quality import SETTINGS, Direct, Judge, Row
from velospec_cli.benchmark.suites.quality_figures import curve, summarize, words
from velospec_cli.benchmark.suites.quality_places import Place

_CONTEXT = 2048  # of a prompt, in tokens, with its answer
_QUICK_CONTEXT = 1024
_LEAST = 4  # places of a quick run, however long they take


def run_quality(model: InstalledModel, options: Options, say: Progress) -> dict[str, Any]:
    """Judge all places, in a quick run as many as there is time for, spread over all of them.

    Raises VeloSpecError where the model or the libraries cannot be used.
    """
    found, notices = sources.load()
    places = sources.spread(found, options.prompts or len(found))
    with ExitStack() as stack:
        context = _CONTEXT if options.deadline is None else _QUICK_CONTEXT
        engine = Opener(model, options, context, say, stack).engine(options.mode)
        watch = Watch()
        rows = asyncio.run(_rows(Judge(Direct(engine)), places, options.deadline, say))
        machine = describe_machine(engine, watch)
        machine["warnings"] += notices
        return {
            "suite": "quality",
            "machine": machine,
            "model": describe_model(engine),
            "versions": describe_versions(sources.DISTRIBUTIONS),
            "settings": {"min_confidence": SETTINGS.min_confidence},
            "rows": [asdict(row) for row in rows],
            "summary": summarize(rows),
            "curve": [asdict(point) for point in curve(words(rows))],
        }


async def _rows(judge: Judge, places: Sequence[Place], deadline: float | None, say: Progress) -> list[Row]:
    rows: dict[int, Row] = {}
    order = range(len(places)) if deadline is None else _far_apart(len(places))
    for done, at in enumerate(order):
        if deadline is not None and time.monotonic() > deadline and done >= _LEAST:
            break
        say(places[at].kind, done, len(places))
        rows[at] = await judge.row(places[at])
    return [rows[at] for at in sorted(rows)]


def _far_apart(count: int) -> list[int]:
    """The numbers below `count` in an order of which every beginning is spread over all of them."""
    width = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda index: f"{index:0{width}b}"[::-1])
