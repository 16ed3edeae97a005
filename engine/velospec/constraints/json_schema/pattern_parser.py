"""Reads regular expressions of ECMA 262, those parts of it that describe a regular set of strings.

Reads the common notation of `patterns` too: its escape of eight digits is the one thing that ECMA 262 lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from velospec.constraints.json_schema.pattern_nodes import (
    DIGIT,
    LINE_ENDS,
    SPACE,
    WORD,
    Anchor,
    Chars,
    Choice,
    Node,
    PatternError,
    Ranges,
    Repeat,
    Sequence,
    category,
    complement,
)

_CLASSES: dict[str, Ranges] = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}|U([0-9A-Fa-f]{8})")
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_PROPERTY = re.compile(r"[pP]\{(?:General_Category=|gc=)?([A-Z][a-z]?)\}")
_GROUP = re.compile(r"\?(?::|<[A-Za-z_]\w*>)")
_LARGEST_COUNT = 5000  # of repetitions: each is a state of the automaton
_DEEPEST = 100  # groups in groups


def parse(pattern: str) -> Node:
    """The parts of `pattern`. Raises PatternError."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise PatternError("a closing bracket has no opening one")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PatternError("its groups are nested too deep")
        options = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (char := self._peek()) and char not in "|)":
            parts.append(self._counted(self._atom()))
        return Sequence(tuple(parts))

    def _counted(self, node: Node) -> Node:
        sign = self._peek()
        if sign and sign in "*+?":
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif count := self._take(_COUNT):
            least = int(count[1])
            most = (int(count[3]) if count[3] else None) if count[2] else least
        else:
            return node
        if isinstance(node, Anchor):
            raise PatternError("an anchor is repeated")
        if max(least, most or 0) > _LARGEST_COUNT:
            raise PatternError(f"it repeats more than {_LARGEST_COUNT} times")
        if most is not None and most < least:
            raise PatternError("a count ends before it begins")
        if self._peek() == "?":  # lazy: the same strings
            self._at += 1
        if self._peek() and self._peek() in "*+?":
            raise PatternError("a count is repeated")
        return Repeat(node, least, most)

    def _atom(self) -> Node:
        char = self._peek()
        self._at += 1
        match char:
            case "^" | "$":
                return Anchor(char)
            case ".":
                return Chars(complement(LINE_ENDS))
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return Chars(_characters(self._escape()))
            case "*" | "+" | "?":
                raise PatternError("a count has nothing to repeat")
        return Chars(_characters(((ord(char), ord(char)),)))

    def _group(self) -> Node:
        if self._peek() == "?" and not self._take(_GROUP):
            raise PatternError("it looks ahead or behind, or sets a flag")
        node = self._choice()
        if self._peek() != ")":
            raise PatternError("a group is not closed")
        self._at += 1
        return node

    def _class(self) -> Node:
        inverted = self._peek() == "^"
        self._at += inverted
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            low = self._class_member()
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                high = self._class_member()
                if len(low) == len(high) == 1 and low[0][0] == low[0][1] and high[0][0] == high[0][1]:
                    if high[0][0] < low[0][0]:
                        raise PatternError("a range of characters ends before it begins")
                    ranges.append((low[0][0], high[0][0]))
                    continue
                ranges += [*low, *high, (ord("-"), ord("-"))]
                continue
            ranges += low
        self._at += 1
        return Chars(_characters(complement(ranges) if inverted else ranges))

    def _class_member(self) -> Ranges:
        char = self._peek()
        if not char:
            raise PatternError("a class is not closed")
        self._at += 1
        if char != "\\":
            return ((ord(char), ord(char)),)
        if self._peek() == "b":
            self._at += 1
            return ((8, 8),)
        return self._escape()

    def _escape(self) -> Ranges:
        if found := self._take(_HEX):
            return self._code(int(next(filter(None, found.groups())), 16))
        if found := self._take(_PROPERTY):
            ranges = category(found[1])
            return complement(ranges) if found[0][0] == "P" else ranges
        char = self._peek()
        self._at += 1
        if char.lower() in _CLASSES and char:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else complement(ranges)
        if char in _CONTROLS and not (char == "0" and self._peek().isdigit()):
            return ((_CONTROLS[char], _CONTROLS[char]),)
        if not char or (char.isascii() and char.isalnum()):
            raise PatternError(_without_meaning(char))
        return ((ord(char), ord(char)),)

    def _code(self, code: int) -> Ranges:
        if 0xD800 <= code < 0xDC00 and (low := self._take(_LOW_SURROGATE)):
            code = 0x10000 + ((code - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        if code > 0x10FFFF:
            raise PatternError("it has a code point beyond Unicode")
        return ((code, code),)


def _characters(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """`ranges` without surrogates, which stand for no character."""
    found = complement(complement(ranges))
    if not found:
        raise PatternError("an empty class, or half of a surrogate pair, matches no character")
    return found


def _without_meaning(char: str) -> str:
    """Why a backslash before `char` is not understood."""
    if not char:
        return "it ends in a backslash, which escapes nothing"
    if char in "bB":
        return f"\\{char} asks for the edge of a word, which is not supported"
    if char == "k" or char.isdigit():
        return f"\\{char} refers back to a group, which is not supported"
    return f"\\{char} has no meaning in patterns of JSON Schema (ECMA 262)"
