"""Texts cut into pieces of some lines, and how much two of them have in common.

Two measures, each for its purpose. Words tell whether a piece is of use: their share is estimated from bit
sets, since thousands of pieces are looked through for one place. Lines tell whether it says nothing new.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

LINES = 32
_STRIDE = 16
_CHARACTERS = 1200  # of one piece; what is beyond is cut off at a line's end
_TOLD_BY = 9  # lines of a piece that hold anything, at least
_BITS = 2048  # a piece has about 60 words, so that few share a bit

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Piece:
    """Some lines of a file. `words` is the bit set of its words."""

    uri: str
    start: int  # number of its first line, from 0
    text: str
    words: int

    @cached_property
    def lines(self) -> frozenset[str]:
        """Its lines that hold anything, without indentation."""
        return lines_of(self.text)

    def overlaps(self, other: Piece) -> bool:
        """Whether some of the lines of the two are the same lines of one file."""
        return self.uri == other.uri and abs(self.start - other.start) < LINES


def cut(uri: str, text: str) -> Iterator[Piece]:
    r"""The pieces of a text whose only line end is \n; each half of one is half of the next, too."""
    lines = text.split("\n")
    for start in range(0, max(1, len(lines) - _STRIDE), _STRIDE):
        piece = _within(lines[start : start + LINES])
        if len(lines_of(piece)) >= _TOLD_BY:
            yield Piece(uri, start, piece, words_of(piece))


def words_of(text: str) -> int:
    """The bit set of the words in `text`: names, keywords, words of comments."""
    bits = 0
    for word in set(_WORD.findall(text)):
        bits |= 1 << crc32(word.encode()) % _BITS
    return bits


def lines_of(text: str) -> frozenset[str]:
    """The lines of `text` that hold anything, without what is blank at both ends."""
    return frozenset(line for each in text.split("\n") if (line := each.strip()))


def shared_words(one: int, other: int) -> float:
    """What share of all words of two texts is in both, 0 to 1."""
    both = (one & other).bit_count()
    return both / max(1, one.bit_count() + other.bit_count() - both)


def shared_lines(one: frozenset[str], other: frozenset[str]) -> float:
    """What share of all lines of two texts is in both, 0 to 1."""
    return len(one & other) / max(1, len(one | other))


def _within(lines: list[str]) -> str:
    text = "\n".join(lines)
    if len(text) > _CHARACTERS:
        text = text[: text.rfind("\n", 0, _CHARACTERS) + 1] or text[:_CHARACTERS]
    return text.rstrip("\n") + "\n"
