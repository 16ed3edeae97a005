"""What `velospec demo` shows: code with ghost text as an editor draws it, times, speeds, how to go on.

Rich decides what the terminal can do. Ghost text is dim and italic where there are styles; a `+` beside the
line numbers says the same where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from velospec_cli.demo_speed import ROUNDS, Speed

GHOST = "dim italic"
SVG_FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's own, less the fonts that a viewer would fetch from elsewhere."""

_BEFORE, _AFTER = 5, 2  # lines of code shown around the ghost text
_WIDEST = 100


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the editor: `text` with the cursor at `index`, `ghost` in place of `text[start:end]`.

    `start` <= `index` <= `end`, all in characters; what the ghost repeats of the typed text is not shown
    again.
    """

    file: str
    language: str
    text: str
    index: int
    start: int
    end: int
    ghost: str

    @property
    def offered(self) -> str:
        """The ghost text from the cursor on."""
        return self.ghost[self.index - self.start :]


def width(console: Console) -> int:
    """How wide the demo draws: the terminal's width up to what reads well."""
    return min(console.width, _WIDEST)


def editor(frame: Frame) -> RenderableType:
    """The code around the cursor with the ghost text, in a frame named after the file."""
    highlighter = Syntax("", frame.language, theme="ansi_dark")
    code = highlighter.highlight(frame.text)
    code = code[: len(frame.text)] if len(code) > len(frame.text) else code  # it may add a line break
    ghost = Text(frame.offered, style=GHOST)
    if frame.offered:
        ghost.stylize("reverse", 0, 1 if frame.offered[0] != "\n" else 0)
    typed, _, rest = code.divide([frame.index, frame.end])
    shown = Text.assemble(typed, ghost, rest)
    lines = shown.split("\n", allow_blank=True)
    row = frame.text.count("\n", 0, frame.index)
    last = row + frame.offered.count("\n")
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for number in range(max(row - _BEFORE, 0), min(last + _AFTER + 1, len(lines))):
        ghostly = bool(frame.offered) and row <= number <= last
        # Lines of ghost text have no number yet: they are not in the file.
        label = (
            "" if ghostly and number > row else str(number + 1 if number <= row else number + 1 - last + row)
        )
        grid.add_row(label, Text("+" if ghostly else " ", style=GHOST), lines[number])
    return Panel(grid, title=frame.file, title_align="left")


def times(cold: float, warm: float, more: str) -> Text:
    """How long the two requests of one place took, in seconds; `more` was typed between them."""
    typed = len(more)
    text = Text()
    text.append("first request ", style="dim").append(f"{cold * 1000:,.0f} ms", style="bold")
    text.append(f", {typed} characters later ", style="dim").append(f"{warm * 1000:,.0f} ms", style="bold")
    return text


def speeds(results: Sequence[Speed]) -> RenderableType:
    """The table of speeds, and in words whether the outputs were the same."""
    table = Table(
        box=None, pad_edge=False, title="Tokens per second", title_justify="left", title_style="bold"
    )
    table.add_column("continuing", overflow="fold")
    for name in ("plain", "with drafts", "ratio", "tokens a step"):
        table.add_column(name, justify="right")
    for speed in results:
        table.add_row(
            speed.name,
            f"{speed.plain:.1f}",
            f"{speed.speculative:.1f}",
            Text(f"{speed.ratio:.2f}x", style="bold green" if speed.ratio >= 1 else "bold yellow"),
            f"{speed.tokens_per_step:.2f}",
        )
    return table


def verdict(results: Sequence[Speed]) -> Text:
    """One sentence on the outputs of the plain and the speculative runs, counted."""
    same = sum(speed.identical for speed in results)
    runs = f"medians of {ROUNDS} runs each, in turns, {results[0].tokens} tokens" if results else ""
    if same == len(results):
        return Text(f"All outputs with drafts are identical to those without ({runs}).", style="green")
    differing = ", ".join(speed.name for speed in results if not speed.identical)
    return Text(
        f"Outputs differ for {differing}; {same} of {len(results)} are identical ({runs}).", style="yellow"
    )
