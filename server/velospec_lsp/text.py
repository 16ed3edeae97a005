r"""A document's text as an immutable sequence of lines, made for many small edits and free snapshots.

Lines end at \n, \r\n or \r, and at nothing else: form feed, U+0085 and U+2028 are ordinary characters
here, as they are in the protocol. The lines lie in blocks, and an edit shares all blocks but those it
touches with the text before it, so an edit costs about the same in a file of 100 lines and of 100,000.

Knows nothing of the protocol, of files or of column encodings: places are (line, string index).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice

from velospec_lsp.encoding import content_length

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BLOCK = 256  # lines; an edit copies two such blocks at most, and the list of blocks
_Block = tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their line ends; the last one has none and may be empty."""
    lines: list[str] = _LINE.findall(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two characters: line number and string index in that line, both from 0."""

    line: int
    index: int


def behind(start: Place, text: str) -> Place:
    """The place behind `text` (LF line ends) where that stands at `start`."""
    breaks, last = text.count("\n"), text.rpartition("\n")[2]
    return Place(start.line + breaks, len(last) if breaks else start.index + len(last))


@dataclass(frozen=True)
class Text:
    """An immutable text. There is always at least one line, and the last line has no line end."""

    blocks: tuple[_Block, ...]
    size: int  # characters in all

    @classmethod
    def of(cls, text: str) -> Text:
        """The text whose whole content is `text`."""
        return cls(_chunk(split_lines(text)), len(text))

    @cached_property
    def _starts(self) -> list[int]:
        """Number of the first line of each block, and the number of lines."""
        return list(accumulate(map(len, self.blocks), initial=0))

    @property
    def line_count(self) -> int:
        return self._starts[-1]

    def line(self, number: int) -> str:
        """Line `number` with its line end. Raises IndexError outside of the text."""
        if not 0 <= number < self.line_count:
            raise IndexError(number)
        block = bisect_right(self._starts, number) - 1
        return self.blocks[block][number - self._starts[block]]

    def lines(self, start: int, stop: int | None = None) -> Iterator[str]:
        """The lines from `start` to before `stop` (to the end if None), with their line ends."""
        stop = self.line_count if stop is None else min(stop, self.line_count)
        start = max(start, 0)
        if start >= stop:
            return
        first = bisect_right(self._starts, start) - 1
        chained = (line for block in islice(self.blocks, first, None) for line in block)
        skipped = start - self._starts[first]
        yield from islice(chained, skipped, skipped + stop - start)

    def lines_backwards(self, start: int) -> Iterator[str]:
        """The lines before line `start`, nearest first."""
        for number in range(min(start, self.line_count) - 1, -1, -1):
            yield self.line(number)

    def clamp(self, place: Place) -> Place:
        """The nearest place that exists: past the last line is the end, past a line's content its end."""
        if place.line < 0:
            return Place(0, 0)
        if place.line >= self.line_count:
            last = self.line_count - 1
            return Place(last, len(self.line(last)))
        return Place(place.line, max(0, min(place.index, content_length(self.line(place.line)))))

    def replace(self, start: Place, end: Place, new: str) -> Text:
        """The text with what lies between `start` and `end` replaced by `new`; places are clamped."""
        start, end = self.clamp(start), self.clamp(end)
        if end < start:
            start, end = end, start
        segment = self.line(start.line)[: start.index] + new + self.line(end.line)[end.index :]
        first = start.line
        if (
            start.index == 0
            and first > 0
            and segment.startswith("\n")
            and self.line(first - 1).endswith("\r")
        ):
            # The edit brought a \n right behind a line end \r: the two are one line end now.
            first -= 1
            segment = self.line(first) + segment
        removed = sum(map(len, self.lines(first, end.line + 1)))
        lines = split_lines(segment)
        if end.line + 1 < self.line_count:
            lines.pop()  # the segment carries the end of its last line, so what split off behind is empty
        blocks = self._splice(first, end.line + 1, lines)
        return Text(blocks, self.size - removed + len(segment))

    def _splice(self, start: int, stop: int, lines: list[str]) -> tuple[_Block, ...]:
        """Put `lines` in place of the lines from `start` to before `stop`, which is not empty."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, stop - 1) - 1
        before = self.blocks[first][: start - self._starts[first]]
        after = self.blocks[last][stop - self._starts[last] :]
        middle = _chunk([*before, *lines, *after])
        left, right = self.blocks[:first], self.blocks[last + 1 :]
        # Neighbours that have shrunk are joined, or else many small deletions would leave many tiny blocks.
        if left and middle and len(left[-1]) + len(middle[0]) <= _BLOCK // 2:
            middle = (left[-1] + middle[0], *middle[1:])
            left = left[:-1]
        return (*left, *middle, *right)

    def __str__(self) -> str:
        return "".join(line for block in self.blocks for line in block)


def _chunk(lines: list[str]) -> tuple[_Block, ...]:
    """Blocks of `lines`. One that fits into two blocks is halved, so that room for growth is left in both."""
    if len(lines) <= _BLOCK:
        return (tuple(lines),) if lines else ()
    step = (len(lines) + 1) // 2 if len(lines) <= 2 * _BLOCK else _BLOCK
    return tuple(tuple(lines[at : at + step]) for at in range(0, len(lines), step))


def to_lf(lines: Iterable[str]) -> str:
    r"""`lines` as one string whose only line end is \n."""
    text = "".join(lines)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
