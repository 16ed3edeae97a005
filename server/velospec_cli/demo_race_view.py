"""How the race looks on a terminal: two panes that fill, a legend of who drafted what, and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from velospec_cli.demo_race import MODEL_ITSELF, Lane, Lanes

COLOURS = {
    "suffix": "#3fb950",
    "corpus": "#58a6ff",
    "ngram": "#d29922",
    "motif": "#bc8cff",
    "resume": "#7ee787",
    "syntax_fsm": "#39c5cf",
    "ast_shadow": "#ff7b72",
    "draft_model": "#f778ba",
}
"""By proposer; what the model chose without a draft has the colour of text."""

_WIDEST = 120
_MOST_LINES = 24
_FRAME_LINES = 5  # what is drawn beside the lines of text: borders, legend


def panes(console: Console, prompt: str, lanes: Lanes) -> RenderableType:
    """Both lanes as far as they are, side by side, the ends of their texts where those are too long."""
    lines = max(3, min(_MOST_LINES, console.height - _FRAME_LINES))
    grid = Table.grid(expand=True)
    for _ in lanes:
        grid.add_column(ratio=1)
    grid.add_row(*(_pane(prompt, lane, lines) for lane in lanes))
    return Constrain(Group(grid, legend(lanes)), min(console.width, _WIDEST))


def _pane(prompt: str, lane: Lane, lines: int) -> Panel:
    text = Text(no_wrap=True, overflow="ellipsis").append(prompt.rpartition("\n")[2], style="dim")
    for token in list(lane.tokens):  # a copy: it grows meanwhile
        text.append(token.text, style=COLOURS.get(token.proposer))
    shown = text.split("\n", allow_blank=True)[-lines:]
    return Panel(
        Text("\n", no_wrap=True, overflow="ellipsis").join(shown),
        title=lane.name,
        title_align="left",
        subtitle=f"{len(lane.tokens)} tokens, {lane.tokens_per_second:.1f} tokens/s",
        subtitle_align="right",
        height=lines + 2,
    )


def legend(lanes: Lanes) -> Text:
    """The colours of those whose drafts were accepted, with the number of their tokens."""
    counts = drafted_by(lanes)
    text = Text()
    for name, colour in COLOURS.items():
        if counts[name]:
            text.append("■ ", style=colour).append(f"{name} {counts[name]}  ")
    return text.append(f"□ the model itself {counts[MODEL_ITSELF]}")


def drafted_by(lanes: Lanes) -> Counter[str]:
    """How many tokens of the lane with drafts came from which proposer."""
    return Counter(token.proposer for lane in lanes if lane.speculate for token in list(lane.tokens))


def result(lanes: Lanes) -> RenderableType:
    """The figures of both lanes."""
    table = Table(box=None, pad_edge=False)
    table.add_column("the race")
    for heading in ("tokens", "seconds", "tokens/s", "ratio", "tokens a step"):
        table.add_column(heading, justify="right")
    for lane in lanes:
        table.add_row(*_row(lane, lanes[0]))
    return table


def _row(lane: Lane, plain: Lane) -> Sequence[str]:
    ratio = lane.tokens_per_second / plain.tokens_per_second if plain.tokens_per_second else 0.0
    return (
        lane.name,
        str(len(lane.tokens)),
        f"{lane.seconds:.1f}",
        f"{lane.tokens_per_second:.1f}",
        f"{ratio:.2f}x",
        f"{lane.tokens_per_step:.2f}",
    )


def verdict(lanes: Lanes) -> Text:
    """Whether both wrote the same, in a sentence."""
    if lanes[0].ids == lanes[1].ids:
        return Text("Both wrote the same text, token for token.", style="green")
    pairs = enumerate(zip(*(lane.ids for lane in lanes), strict=False))
    differing = next((at for at, (plain, drafted) in pairs if plain != drafted), None)
    where = "at the end" if differing is None else f"from token {differing + 1} on"
    return Text(f"The texts differ {where}.", style="yellow")
