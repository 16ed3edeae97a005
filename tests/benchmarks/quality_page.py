"""Write the tables and the picture of docs/quality.md anew from the JSON of `velospec benchmark quality`.

    velospec benchmark quality --json tests/benchmarks/results/quality.json
    python -m tests.benchmarks.quality_page

A table stands between its markers, as in `tables`. The picture has the gate's curves, one for each source.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from tests.benchmarks.tables import RESULTS, ROOT, Document, table, write
from velospec_cli.benchmark.suites.quality import Row
from velospec_cli.benchmark.suites.quality_figures import Point, curve, of, words

PAGE, PICTURE = ROOT / "docs" / "quality.md", ROOT / "docs" / "pictures" / "quality.svg"
SHOWN = (0, 5, 10, 15, 20, 25, 30, 40, 50)
"""Thresholds that have a line in the table."""

COLOURS = {"standard library": "#1f77b4", "packages": "#d95f02"}
_SIDE, _GAP, _LEFT, _TOP, _BOTTOM = 300, 90, 60, 56, 74  # pixels: a panel's side, between two, around them
_INK, _FAINT, _PAPER = "#24292f", "#8c959f", "#ffffff"


@dataclass(frozen=True, slots=True)
class Panel:
    """One square with the rates `across` and `up`, each from 0 to 1, and the corner that was the goal."""

    title: str
    across: str
    up: str
    labels: tuple[str, str]
    goal: tuple[float, float]


PANELS = (
    Panel(
        "Precision",
        "show_rate",
        "exact_line",
        ("places with a suggestion", "exact lines of those"),
        (0.6, 0.55),
    ),
    Panel(
        "Quiet",
        "quiet_rate",
        "right_shown",
        ("quiet where the model is wrong", "shown where it is right"),
        (0.7, 0.8),
    ),
)


def load() -> Document:
    """The result in the repository."""
    document: Document = json.loads((RESULTS / "quality.json").read_text("utf-8"))
    return document


def rows_of(document: Document) -> list[Row]:
    """The rows as the suite has them."""
    return [Row(**row) for row in document["rows"]]


def page(document: Document, text: str) -> str:
    """`text`, the page, with its tables made anew."""
    summary = document["summary"]
    groups = {"lines of Python": summary, **summary["sources"], **summary["kinds"]}
    head = (
        "places",
        "number",
        "shown",
        "exact line",
        "first word",
        "survives",
        "quiet if wrong",
        "shown if right",
    )
    names = ("show_rate", "exact_line", "first_token", "survival", "quiet_rate", "right_shown")
    lines = [
        [f"`{label}`", str(figures["places"]), *(_percent(figures[name]) for name in names)]
        for label, figures in groups.items()
    ]
    text = write(text, "quality", table(head, lines))
    points = curve(words(rows_of(document)), SHOWN)
    told = [[str(point.threshold), *map(_percent, _rates(point))] for point in points]
    head = ("`minConfidence`", "shown", "exact line", "quiet if wrong", "shown if right")
    text = write(text, "curve", table(head, told))
    return write(text, "conditions", _conditions(document))


def picture(document: Document) -> str:
    """The curves as SVG: each source's, from showing everything to nothing; the dot is the default."""
    width = 2 * _LEFT + len(PANELS) * _SIDE + _GAP
    height = _TOP + _SIDE + _BOTTOM
    rows, shipped = words(rows_of(document)), document["settings"]["min_confidence"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>What the quiet gate shows and hides by its threshold</title>",
        f"<style>text{{font:12px sans-serif;fill:{_INK}}}.t{{font-weight:bold}}.f{{fill:{_FAINT}}}</style>",
        f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
    ]
    for place, panel in enumerate(PANELS):
        parts.append(f'<g transform="translate({_LEFT + place * (_SIDE + _GAP)} {_TOP})">')
        parts += _frame(panel)
        for name, colour in COLOURS.items():
            parts += _curve(panel, curve(of(rows, name), range(101)), shipped, colour)
        parts.append("</g>")
    for place, (name, colour) in enumerate(COLOURS.items()):
        x, y = _LEFT + 160 * place, height - 18
        parts.append(f'<rect x="{x}" y="{y - 9}" width="18" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 24}" y="{y - 3}">{escape(name)}</text>')
    note = f"dot: minConfidence {shipped}, the default; dashed: the goal"
    parts.append(f'<text class="f" x="{_LEFT + 340}" y="{height - 21}">{note}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _frame(panel: Panel) -> Iterator[str]:
    yield f'<text class="t" y="-24">{panel.title}</text>'
    for step in range(0, 101, 20):
        at = _SIDE * step / 100
        yield f'<path d="M{at:.0f} 0V{_SIDE}M0 {at:.0f}H{_SIDE}" stroke="{_FAINT}" stroke-opacity=".3"/>'
        yield f'<text class="f" x="{at:.0f}" y="{_SIDE + 16}" text-anchor="middle">{step}</text>'
        yield f'<text class="f" x="-6" y="{_SIDE - at + 4:.0f}" text-anchor="end">{step}</text>'
    yield f'<text x="{_SIDE / 2:.0f}" y="{_SIDE + 34}" text-anchor="middle">{panel.labels[0]}, %</text>'
    yield f'<text y="-8">{panel.labels[1]}, %</text>'
    across, up = panel.goal
    yield (
        f'<rect x="{_SIDE * across:.0f}" y="0" width="{_SIDE * (1 - across):.0f}" '
        f'height="{_SIDE * (1 - up):.0f}" fill="none" stroke="{_FAINT}" stroke-dasharray="4 3"/>'
    )


def _curve(panel: Panel, points: Sequence[Point], shipped: int, colour: str) -> Iterator[str]:
    drawn = [point for point in points if point.show_rate]  # of nothing, no share is right
    places = [_at(panel, point) for point in drawn]
    yield f'<path d="M{"L".join(places)}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for point, place in zip(drawn, places, strict=True):
        if point.threshold == shipped:
            x, y = place.split()
            yield f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'


def _at(panel: Panel, point: Point) -> str:
    across, up = getattr(point, panel.across), getattr(point, panel.up)
    return f"{_SIDE * across:.1f} {_SIDE * (1 - up):.1f}"


def _rates(point: Point) -> tuple[float, ...]:
    return point.show_rate, point.exact_line, point.quiet_rate, point.right_shown


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.1%}"


def _conditions(document: Document) -> str:
    summary, model = document["summary"], document["model"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    answers = document.get("answers")
    made = f" Its answers were computed {answers}." if answers else ""
    single: Any = summary["unbalanced"]
    return (
        f"Model {model['name']}, `minConfidence` {document['settings']['min_confidence']}.{made} Of all "
        f"{summary['positions']} places {summary['duplicates']} show what stands beside them once more; "
        f"{_percent(single)} of the single lines shown have a bracket or quote without a partner. {versions}."
    )


def main() -> None:
    """Write the page and the picture."""
    document = load()
    PAGE.write_text(page(document, PAGE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(picture(document), "utf-8")


if __name__ == "__main__":
    main()
