"""Where in a JSON text the end of it stands: the keys around, and what was written of the value under way.

A place is plain data and moves by bytes, so that hypothetical text costs nothing to take back. Text before
and behind the JSON, such as that around tool calls, is a place too. Reads what is well-formed; of anything
else it makes some place, since what is made of places is verified. Knows no schema and no tokens.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

LONGEST = 24
"""Bytes at the end of what was written that a place remembers."""


class Mode(IntEnum):
    """What comes next."""

    TEXT = 0  # anything: outside of JSON
    FIRST = 1  # a key's quote, or the end of the object
    KEY = 2  # more of a key
    COLON = 3
    VALUE = 4
    STRING = 5  # more of a string
    SCALAR = 6  # more of a number or a word
    AFTER = 7  # a comma or the end of what is around


Path = tuple[bytes | None, ...]
"""An entry for each object and array around: the key last written, or None for an array."""

End = tuple[Path, bool]
"""A value that ended: its path, and whether another follows it in its object or array."""


class Place(NamedTuple):
    """The end of a JSON text.

    `written` is what was written of the key, string or number under way, of the blanks before the next
    thing, or of the text outside; at most its last LONGEST bytes.
    """

    path: Path = ()
    mode: Mode = Mode.TEXT
    written: bytes = b""

    def follow(self, piece: bytes) -> tuple[Place, tuple[End, ...]]:
        """The place behind `piece`, and the values that ended in it."""
        path, mode, written = self
        ends: list[End] = []
        start, size = 0, len(piece)
        while start < size:
            if mode is Mode.STRING or mode is Mode.KEY:
                quote = piece.find(b'"', start)
                end = quote if quote >= 0 else size
                written = (written + piece[start:end])[-LONGEST:]
                start = end + 1
                if end == size:
                    break
                if _escaped(written):
                    written = (written + b'"')[-LONGEST:]
                elif mode is Mode.STRING:
                    mode, written = Mode.AFTER, b""
                else:
                    path, mode, written = (*path[:-1], written), Mode.COLON, b""
                continue
            byte = piece[start : start + 1]
            start += 1
            if mode in (Mode.AFTER, Mode.SCALAR) and path and byte in b",]}":
                ends.append((path, byte == b","))
            path, mode, written = _outside(path, mode, written, byte)
        return Place(path, mode, written), tuple(ends)


def _outside(path: Path, mode: Mode, written: bytes, byte: bytes) -> tuple[Path, Mode, bytes]:
    """One byte outside of strings."""
    after = mode, (written + byte)[-LONGEST:]
    match byte:
        case b"{":
            path, after = (*path, b""), (Mode.FIRST, b"")
        case b"[":
            path, after = (*path, None), (Mode.VALUE, b"")
        case b"}" | b"]" if path:
            path, after = path[:-1], (Mode.AFTER if len(path) > 1 else Mode.TEXT, b"")
        case b"," if path:
            after = Mode.VALUE if path[-1] is None else Mode.FIRST, b""
        case b'"' if mode in (Mode.FIRST, Mode.VALUE) or (mode is Mode.TEXT and not written):
            after = Mode.KEY if mode is Mode.FIRST else Mode.STRING, b""
        case b":" if mode is Mode.COLON:
            after = Mode.VALUE, b""
        case _ if mode is Mode.VALUE and not byte.isspace():
            after = Mode.SCALAR, byte
        case _ if mode is Mode.SCALAR and byte.isspace():
            after = Mode.AFTER, byte
    return path, *after


def _escaped(written: bytes) -> bool:
    return (len(written) - len(written.rstrip(b"\\"))) % 2 == 1
