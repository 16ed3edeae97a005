"""The parts of a regular expression, and sets of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)
DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))


class PatternError(ValueError):
    """The pattern is no regular expression, or uses what no grammar can hold; the message says which."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of `ranges`, by code points, ends included."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Anchor:
    """The beginning (`^`) or the end (`$`) of the string."""

    sign: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one behind the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`node`, between `least` and `most` times; None is no limit."""

    node: Node
    least: int
    most: int | None


Node = Chars | Anchor | Sequence | Choice | Repeat

ANYTHING = Repeat(Chars(((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST))), 0, None)


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """All characters but `ranges`."""
    found = []
    edges = sorted([*ranges, SURROGATES, (-1, -1), (LAST + 1, LAST + 1)])
    high = -1
    for (_, before), (low, _) in pairwise(edges):
        high = max(high, before)
        if low > high + 1:
            found.append((high + 1, low - 1))
    return tuple(found)


@cache
def category(name: str) -> Ranges:
    """All characters whose general category begins with `name`, such as L or Lu."""
    found: list[tuple[int, int]] = []
    for code in range(LAST + 1):
        if unicodedata.category(chr(code)).startswith(name) and not SURROGATES[0] <= code <= SURROGATES[1]:
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    return tuple(found)
