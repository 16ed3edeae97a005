"""The race as a moving picture: an SVG that plays it again at its own pace, over and over.

Each step's tokens appear when the step ended on its lane's clock. SMIL does that without a script, so that
the picture moves where scripts are not allowed, as in a page's `<img>`; what knows no SMIL shows the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

from velospec_cli.demo_race import MODEL_ITSELF, Lane, Lanes, Token
from velospec_cli.demo_race_view import COLOURS, drafted_by

_FONT, _CHARACTER, _LINE = 12, 7.2, 17.0  # pixels: size, width of a character, height of a line
_COLUMNS, _GAP, _MARGIN = 56, 20, 16  # characters of a pane; pixels between the panes and around them
_TOP, _BOTTOM = 64, 46  # pixels above and below the text
_MOST_LINES = 30
_START, _END = 0.6, 4.0  # seconds before the first token and after the last
_COUNTS_SECONDS = 0.25  # between two readings of the speed
_PANE = _COLUMNS * _CHARACTER
_INK, _PAPER, _FAINT = "#e6edf3", "#0d1117", "#8b949e"


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters of one line and colour, at a place counted in lines and columns."""

    line: int
    column: int
    text: str
    colour: str


def picture(prompt: str, lanes: Lanes, note: str) -> str:
    """The SVG of a race that has been run; `note` says below it where the figures come from."""
    begin = prompt.rpartition("\n")[2]
    texts = [begin + "".join(token.text for token in lane.tokens) for lane in lanes]
    lines = min(_MOST_LINES, max(text.count("\n") + 1 for text in texts))
    width, height = 2 * (_PANE + _MARGIN) + _GAP, _TOP + lines * _LINE + _BOTTOM
    duration = _START + max(lane.seconds for lane in lanes) + _END
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        f"<title>{escape(_summary(lanes))}</title>",
        f"<style>text{{font:{_FONT}px ui-monospace,Menlo,Consolas,monospace;white-space:pre;fill:{_INK}}}"
        ".h{font-weight:bold;font-size:14px}.f{fill:" + _FAINT + "}</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>',
    ]
    for place, lane in enumerate(lanes):
        parts += _lane(lane, begin, _MARGIN + place * (_PANE + _GAP), lines, duration)
    parts += _foot(lanes, note, height - 28)
    return "\n".join([*parts, "</svg>", ""])


def _summary(lanes: Lanes) -> str:
    plain, drafting = lanes
    return (
        f"The same text, decoded plainly at {plain.tokens_per_second:.1f} tokens/s "
        f"and with drafts at {drafting.tokens_per_second:.1f} tokens/s"
    )


def _lane(lane: Lane, begin: str, left: float, lines: int, duration: float) -> Iterator[str]:
    """The pane of one lane: its heading, its frame, its speed as it went, its text as it came."""
    yield f'<g transform="translate({left:.0f} 0)">'
    yield f'<text class="h" y="26">{lane.name}</text>'
    yield from _readings(lane, duration)
    yield f'<svg y="{_TOP - _LINE:.0f}" width="{_PANE:.0f}" height="{(lines + 1) * _LINE:.0f}">'  # clips
    yield _drawn(_Run(0, 0, begin, _FAINT))
    line, column = 0, len(begin)
    for at, tokens in groupby(lane.tokens, key=lambda token: token.at):
        runs, line, column = _runs(list(tokens), line, column)
        drawn = "".join(_drawn(run) for run in runs if run.text.strip() and run.line < lines)
        if drawn:
            yield f"<g>{drawn}{_shown_from(_START + at, duration)}</g>"
    yield "</svg>"
    yield "</g>"


def _runs(tokens: Sequence[Token], line: int, column: int) -> tuple[list[_Run], int, int]:
    """The runs that `tokens` make from a place on, and the place behind them."""
    runs = []
    for token in tokens:
        for number, part in enumerate(token.text.expandtabs(4).split("\n")):
            if number:
                line, column = line + 1, 0
            runs.append(_Run(line, column, part, COLOURS.get(token.proposer, _INK)))
            column += len(part)
    return runs, line, column


def _drawn(run: _Run) -> str:
    text = run.text.strip()
    x = (run.column + len(run.text) - len(run.text.lstrip())) * _CHARACTER
    y = (run.line + 1) * _LINE
    fill = "" if run.colour == _INK else f' style="fill:{run.colour}"'
    long = f' textLength="{len(text) * _CHARACTER:.1f}"' if len(text) > 1 else ""
    return f'<text x="{x:.1f}" y="{y:.0f}"{long}{fill}>{escape(text)}</text>'


def _readings(lane: Lane, duration: float) -> Iterator[str]:
    """Tokens and speed, read several times a second; the last reading stays."""
    readings = [(0.0, 0)]
    for count, token in enumerate(lane.tokens, 1):
        if token.at >= readings[-1][0] + _COUNTS_SECONDS:
            readings.append((token.at, count))
    readings.append((lane.seconds, len(lane.tokens)))
    for (at, count), following in zip(readings, [*readings[1:], None], strict=True):
        speed = count / at if at else 0.0
        shown = _shown_from(_START + at, duration, _START + following[0] if following else None)
        hidden = ' opacity="0"' if following else ""
        label = f"{count} tokens, {at:.1f} s, {speed:.1f} tokens/s"
        yield f'<text x="{_PANE:.0f}" y="26" text-anchor="end"{hidden}>{label}{shown}</text>'


def _shown_from(start: float, duration: float, end: float | None = None) -> str:
    """What makes its parent visible from `start` to `end` (seconds) in each round of `duration`."""
    values, times = "0;1", f"0;{start / duration:.4f}"
    if end is not None:
        values, times = "0;1;0", f"{times};{end / duration:.4f}"
    return (
        f'<animate attributeName="opacity" calcMode="discrete" values="{values}" keyTimes="{times}" '
        f'dur="{duration:.2f}s" repeatCount="indefinite"/>'
    )


def _foot(lanes: Lanes, note: str, y: float) -> Iterator[str]:
    """The legend, and whether both wrote the same."""
    counts = drafted_by(lanes)
    entries = [(colour, f"{name} {counts[name]}") for name, colour in COLOURS.items() if counts[name]]
    entries.append((_INK, f"the model itself {counts[MODEL_ITSELF]}"))
    x = float(_MARGIN)
    for colour, label in entries:
        yield f'<text x="{x:.0f}" y="{y:.0f}" style="fill:{colour}">■ {label}</text>'
        x += (len(label) + 4) * _CHARACTER
    same = "The same text, token for token." if lanes[0].ids == lanes[1].ids else "The texts differ."
    yield f'<text class="f" x="{_MARGIN}" y="{y + 18:.0f}">{escape(f"{same} {note}")}</text>'
