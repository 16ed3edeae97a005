"""Follows a text byte by byte: inside a string or comment or not, and which bytes patterns get to see.

The machine of one `Lexis`. Knows neither rules nor tokens; remembers nothing but the `Mode` it is handed.
"""

from __future__ import annotations

from typing import NamedTuple

from velospec.proposers.syntax_rules.base import Lexis

_NEWLINE, _BACKSLASH, _APOSTROPHE = 10, 92, 39


class Mode(NamedTuple):
    """Where the text stands. In code, `close` is empty and `partial` is the begin of an opener, if any.

    In a string or comment, `partial` is the part of `close` that was seen.
    """

    close: bytes = b""
    partial: bytes = b""
    escapes: bool = False
    lines: bool = False  # goes on over line ends
    comment: bool = False
    escaped: bool = False  # the byte before was an escaping backslash
    length: int = 0  # bytes so far inside, counted up to 2

    @property
    def code(self) -> bool:
        return not self.close


CODE = Mode()


class Lexer:
    """The machine of one language."""

    def __init__(self, lexis: Lexis) -> None:
        openers = {quote.encode(): Mode(quote.encode(), escapes=True) for quote in lexis.quotes}
        for opener, close, escapes in lexis.blocks:
            openers[opener.encode()] = Mode(close.encode(), escapes=escapes, lines=True)
        for opener in lexis.line_comments:
            openers[opener.encode()] = Mode(b"\n", comment=True)
        for opener, close in lexis.block_comments:
            openers[opener.encode()] = Mode(close.encode(), lines=True, comment=True)
        self._openers = openers
        self._longest = max(map(len, openers), default=1)
        self._beginnings = {opener[:end] for opener in openers for end in range(1, len(opener))}
        self._lifetimes = lexis.lifetimes

    def step(self, mode: Mode, byte: int) -> tuple[Mode, bool]:
        """The mode after `byte`, and whether `byte` is code: a string's quotes are, its content is not."""
        return self._in_code(mode, byte) if mode.code else self._inside(mode, byte)

    def _in_code(self, mode: Mode, byte: int) -> tuple[Mode, bool]:
        seen = mode.partial + bytes((byte,))
        for start in range(max(0, len(seen) - self._longest), len(seen)):
            opened = self._openers.get(seen[start:])
            if opened is not None:
                return opened, not opened.comment and not _triple(seen[start:])
        return Mode(partial=self._beginning(seen)), True

    def _inside(self, mode: Mode, byte: int) -> tuple[Mode, bool]:
        if byte == _NEWLINE and not mode.lines:
            return CODE, True
        if self._lifetimes and _after_one_letter(mode) and byte != _APOSTROPHE and byte < 128:
            return self._in_code(CODE, byte)  # 'a is a lifetime, unlike 'a' and letters of several bytes
        inside = mode._replace(length=min(mode.length + 1, 2), escaped=False, partial=b"")
        if mode.escaped:
            return inside._replace(length=2), False
        if mode.escapes and byte == _BACKSLASH:
            return inside._replace(escaped=True), False
        partial = _overlap(mode.partial + bytes((byte,)), mode.close)
        if partial != mode.close:
            return inside._replace(partial=partial), False
        # An empty string may turn out to be the begin of a longer quote: "" and then ".
        empty = not mode.length and len(partial) == 1
        return Mode(partial=self._beginning(partial * 2) if empty else b""), len(partial) == 1

    def _beginning(self, seen: bytes) -> bytes:
        """The longest end of `seen` that an opener begins with."""
        ends = (seen[start:] for start in range(len(seen)))
        return next((end for end in ends if end in self._beginnings), b"")


def _triple(opener: bytes) -> bool:
    """Whether `opener` is a quote written three times; two of them were seen as an empty string."""
    return len(opener) == 3 and len(set(opener)) == 1


def _after_one_letter(mode: Mode) -> bool:
    return mode.close == b"'" and mode.length == 1 and not mode.escaped


def _overlap(seen: bytes, close: bytes) -> bytes:
    """The longest end of `seen` that `close` begins with."""
    return next((seen[i:] for i in range(len(seen)) if close.startswith(seen[i:])), b"")
