"""Where a text stands and what it owes there, for code and for markup; values: to follow is to make new ones.

Knows bytes; nothing of tokens or drafts.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from velospec.proposers.structure import duties
from velospec.proposers.structure.duties import Duty, Reason
from velospec.proposers.structure.layout import Layout
from velospec.proposers.structure.lexing import START, State, lexer
from velospec.proposers.structure.outline import Outline, advance


class Owed(NamedTuple):
    """`text` follows the last lexeme for a reason; its beginning `pending` stands already."""

    pending: bytes
    duty: Duty


class Place(Protocol):
    """The end of a text."""

    def follow(self, data: bytes) -> Place:
        """The place after `data`."""
        ...

    def owed(self) -> Owed | None:
        """What must or may well follow; None inside strings and comments, and where nothing is owed."""
        ...

    @property
    def open_bytes(self) -> int:
        """How many of the last bytes belong to something that is not complete."""
        ...


_UNITS = {"go": b"\t", "json": b"  ", "javascript": b"  ", "typescript": b"  "}
_LISTS = frozenset(("json", "sql"))
_CODE = _LISTS | {"python", "javascript", "typescript", "go", "rust", "java", "c", "cpp"}


class CodePlace(NamedTuple):
    """The end of a text of code."""

    language: str
    state: State
    outline: Outline

    @property
    def open_bytes(self) -> int:
        return len(self.state.pending)

    def follow(self, data: bytes) -> CodePlace:
        language, state, outline = self
        state, lexemes = lexer(language).feed(state, data)
        for lexeme in lexemes:
            outline = advance(outline, lexeme, braces=language != "python")
        return CodePlace(language, state, outline)

    def owed(self) -> Owed | None:
        language, state, outline = self
        state, lexemes = lexer(language).peek(state)
        if not state.in_code:
            return None
        for lexeme in lexemes:
            outline = advance(outline, lexeme, braces=language != "python")
        if language == "python":
            duty = duties.indented(outline)
        elif language in _LISTS:
            duty = duties.listed(outline, values=language == "json")
        else:
            duty = duties.braced(outline, semicolons=language in duties.SEMICOLONS)
        return None if duty is None else Owed(state.pending, duty)


_MARKUP = re.compile(
    rb"""(?P<text>[^<]+)
    | <!--.*?--> | <![A-Za-z\[][^>]*>
    | <(?P<close>/?)(?P<name>[A-Za-z][\w:-]*)(?:[^<>"'/]|/(?!>)|"[^"]*"|'[^']*')*(?P<void>/?)>
    | <(?=[^A-Za-z/!])""",
    re.DOTALL | re.VERBOSE,
)
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())
_RAW = frozenset((b"script", b"style"))
_LONGEST = 2000  # bytes of a tag that may be under way


class MarkupPlace(NamedTuple):
    """The end of a text of HTML."""

    elements: tuple[bytes, ...] = ()  # open
    pending: bytes = b""  # a tag or comment under way
    behind: int = 0  # what follows the last tag: 0 nothing, 1 text in its line, 2 another line

    @property
    def open_bytes(self) -> int:
        return len(self.pending)

    def follow(self, data: bytes) -> MarkupPlace:
        elements, pending, behind = self
        buffer, place = pending + data, 0
        while place < len(buffer):
            if elements and elements[-1] in _RAW:
                end = buffer.find(b"</" + elements[-1], place)
                if end < 0:
                    return MarkupPlace(elements, buffer[max(place, len(buffer) - 10) :])
                place = end
            match = _MARKUP.match(buffer, place)
            if match is None:
                break
            place = match.end()
            text, name = match["text"], match["name"]
            if text is not None:
                behind = 2 if b"\n" in text else max(behind, 1 if text.strip() else 0)
            if name is not None:
                behind = 0
                elements = (
                    _closed(elements, name) if match["close"] else _opened(elements, name, match["void"])
                )
        rest = buffer[place:]
        return MarkupPlace(elements, rest if len(rest) < _LONGEST else b"", behind)

    def owed(self) -> Owed | None:
        if not self.elements or self.elements[-1] in _RAW:
            return None
        tag = b"</" + self.elements[-1] + b">"
        if self.pending.startswith(b"</"):
            return Owed(self.pending, Duty(Reason.ELEMENT, tag))
        return Owed(b"", Duty(Reason.ELEMENT, tag, 1)) if self.behind == 1 and not self.pending else None


def _opened(elements: tuple[bytes, ...], name: bytes, void: bytes) -> tuple[bytes, ...]:
    return elements if void or name.lower() in _VOID else (*elements, name)


def _closed(elements: tuple[bytes, ...], name: bytes) -> tuple[bytes, ...]:
    for place in range(len(elements) - 1, -1, -1):
        if elements[place] == name:
            return elements[:place]
    return elements


def start(language: str) -> Place | None:
    """The start of a text in `language`; None where its structure is not known."""
    if language == "html":
        return MarkupPlace()
    if language not in _CODE:
        return None
    gaps = (3, 2, 1) if language == "python" else (2, 2, 1)
    return CodePlace(language, START, Outline(layout=Layout(unit=_UNITS.get(language, b"    ")), gaps=gaps))
