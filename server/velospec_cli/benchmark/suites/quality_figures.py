"""What the rows of `velospec benchmark quality` come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from velospec_cli.benchmark.suites.quality import Row

Figures = dict[str, Any]


def summarize(rows: Sequence[Row]) -> Figures:
    """All figures: of Python lines begun (the kind `word`), then of all places. JSON-ready."""
    python = words(rows)
    others = [row for row in rows if row.kind != "word" or row.language != "python"]
    shown = [row.shown for row in rows if row.shown is not None]
    single = [offer for offer in shown if offer["lines"] == 1]
    return {
        **figures(python),
        "duplicates": sum(offer["repeats"] for offer in shown),
        "unbalanced": share(offer["unbalanced"] for offer in single),
        "positions": len(rows),
        "sources": {name: figures(of(python, name)) for name in sorted({source(row) for row in python})},
        "kinds": {
            f"{language} {kind}": figures(
                [row for row in rows if (row.language, row.kind) == (language, kind)]
            )
            for language, kind in dict.fromkeys((row.language, row.kind) for row in others)
        },
    }


def words(rows: Sequence[Row]) -> list[Row]:
    """The rows that the headline figures are of: lines of Python that a user has begun."""
    return [row for row in rows if row.kind == "word" and row.language == "python"]


def source(row: Row) -> str:
    """What the place is of: the standard library, or the libraries that are installed."""
    return "standard library" if row.place.startswith("stdlib/") else "packages"


def of(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows of the source `name`."""
    return [row for row in rows if source(row) == name]


def figures(rows: Sequence[Row]) -> Figures:
    """Rates from 0 to 1, None where they are of nothing.

    `exact_line` is of what is shown, `exact_of_all` of all places. `quiet_rate` is how often nothing is shown
    where the model's own first line is wrong, `right_shown` how often a right line is where it is right.
    """
    shown = [row.shown for row in rows if row.shown is not None]
    return {
        "places": len(rows),
        "show_rate": share(row.shown is not None for row in rows),
        "exact_line": share(offer["right"] for offer in shown),
        "exact_of_all": share(row.shown is not None and row.shown["right"] for row in rows),
        "first_token": share(offer["begun"] for offer in shown),
        "survival": mean(offer["survival"] for offer in shown),
        "bare_right": share(row.bare is True for row in rows),
        "quiet_rate": share(row.shown is None for row in rows if row.bare is False),
        "right_shown": share(
            row.shown is not None and row.shown["right"] for row in rows if row.bare is True
        ),
    }


@dataclass(frozen=True, slots=True)
class Point:
    """The rates that a threshold of the gate gives; the same as in `figures`."""

    threshold: int  # 0 to 100
    show_rate: float
    exact_line: float
    quiet_rate: float
    right_shown: float


def curve(rows: Sequence[Row], thresholds: Iterable[int] = range(0, 100, 2)) -> list[Point]:
    """The rates by threshold, from what the open gate lets through and how confident the gate is of it."""
    return [_point(rows, threshold) for threshold in thresholds]


def _point(rows: Sequence[Row], threshold: int) -> Point:
    def passes(row: Row) -> bool:
        return row.open is not None and 100 * (row.confidence or 0.0) >= threshold

    def right(row: Row) -> bool:
        return row.open is not None and row.open["right"]

    return Point(
        threshold,
        share(passes(row) for row in rows) or 0.0,
        share(right(row) for row in rows if passes(row)) or 0.0,
        share(not passes(row) for row in rows if row.bare is False) or 0.0,
        share(passes(row) and right(row) for row in rows if row.bare is True) or 0.0,
    )


def share(flags: Iterable[bool]) -> float | None:
    """How many of `flags` are true, 0 to 1; None if there are none."""
    return mean(map(float, flags))


def mean(values: Iterable[float]) -> float | None:
    """Rounded to what a sample of this size can tell and more; None if there are none."""
    found = list(values)
    return round(sum(found) / len(found), 4) if found else None
