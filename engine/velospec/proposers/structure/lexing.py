"""Follows a text as it grows: its lexemes, open brackets, strings, comments and embedded expressions.

A text may be fed in pieces cut anywhere. A lexeme that its next byte could still lengthen waits; `peek` takes
it as it stands. States are values, so that keeping one is keeping a place to come back to. Works in time
proportional to the text, one regular expression match per lexeme. Knows languages from `lexicon` alone.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from velospec.proposers.structure import patterns
from velospec.proposers.structure.lexicon import KEYWORDS, lexicon


class Kind(IntEnum):
    """What a lexeme is."""

    NAME = 0
    KEYWORD = 1
    NUMBER = 2  # and other literals of one lexeme
    OPERATOR = 3
    OPEN = 4
    CLOSE = 5
    QUOTE = 6  # what begins or ends a string
    TEXT = 7  # a word or sign inside a string
    COMMENT = 8  # a word or sign of a comment, its opener included


class Lexeme(NamedTuple):
    """A lexeme and the whitespace before it."""

    kind: Kind
    lead: bytes
    text: bytes


class Within(IntEnum):
    """What a frame is. Up to HOLE it holds code."""

    BRACKET = 0
    HOLE = 1  # an expression embedded in a string
    STRING = 2
    COMMENT = 3


class Frame(NamedTuple):
    """Something open; `indentation` is that of the line it was opened in, `body` how its inside is read."""

    within: Within
    opener: bytes
    close: bytes
    indentation: bytes
    body: re.Pattern[bytes] | None = None


class State(NamedTuple):
    """The end of a text. `pending` are the last bytes, of which no lexeme was made yet."""

    stack: tuple[Frame, ...] = ()
    pending: bytes = b""
    operand: bool = False  # the last lexeme ends an operand: a slash divides
    indentation: bytes = b""  # of the line of the last lexeme

    @property
    def in_code(self) -> bool:
        """Whether the text ends outside of strings and comments, pending bytes aside."""
        return not self.stack or self.stack[-1].within <= Within.HOLE


START = State()
"""The start of a text. Readers that begin with this one share what is remembered."""

_PAIRS = {b"(": b")", b"[": b"]", b"{": b"}"}
_OPERANDS = frozenset((Kind.NAME, Kind.NUMBER, Kind.CLOSE, Kind.QUOTE))
_OPERAND_WORDS = frozenset(
    b"this self super null undefined true false cls None True False nil str int".split()
)
_GROWING = frozenset(("name", "number", "extra", "word"))
_KINDS = {
    "name": Kind.NAME,
    "number": Kind.NUMBER,
    "extra": Kind.NUMBER,
    "open": Kind.OPEN,
    "hole": Kind.OPEN,
    "close": Kind.CLOSE,
    "string": Kind.QUOTE,
    "regex": Kind.QUOTE,
    "comment": Kind.COMMENT,
    "block": Kind.COMMENT,
    "operator": Kind.OPERATOR,
}
_OPENING: dict[str, tuple[Within, bytes, re.Pattern[bytes] | None]] = {
    "open": (Within.BRACKET, b"", None),
    "hole": (Within.HOLE, b"}", None),
    "format": (Within.STRING, b"", patterns.FORMAT),
    "comment": (Within.COMMENT, b"", patterns.LINE),
    "regex": (Within.STRING, b"/", patterns.REGEX),
}
_LONGEST_WAIT = 24  # bytes at the end that may be the beginning of one lexeme
_MOST_KEPT = 8192  # steps remembered, about 500 bytes each
_LONGEST_KEPT = 256  # bytes of one step

_Step = tuple[State, tuple[Lexeme, ...]]


class Lexer:
    """The lexer of one language: `feed` maps a state and bytes to a state and lexemes.

    The last steps are remembered, so that of several readers of one text the first does the work, and a text
    that is read again costs a look-up per piece.
    """

    def __init__(self, language: str) -> None:
        facts = lexicon(language)
        self._facts = facts
        self._code = (patterns.code(facts, operand=False), patterns.code(facts, operand=True))
        self._waits = patterns.beginnings(facts)
        self._unfinished = patterns.unfinished(facts)
        self._blocks = {opener.encode(): close.encode() for opener, close in facts.block_comments}
        self._known: dict[tuple[int, bytes | None], tuple[State, _Step]] = {}

    def feed(self, state: State, data: bytes) -> _Step:
        """The state after `data` more, and the lexemes that are complete with it."""
        return self._remember(state, data)

    def peek(self, state: State) -> _Step:
        """As if the text ended here: nothing but whitespace stays pending."""
        return self._remember(state, None)

    def _remember(self, state: State, data: bytes | None) -> _Step:
        """What `data` more or, for None, the end does; `state` is recognized by being the same object."""
        key = id(state), data
        known = self._known.get(key)
        if known is not None and known[0] is state:
            return known[1]
        step = self._read(state, state.pending + (data or b""), final=data is None)
        if len(state.pending) + len(data or b"") <= _LONGEST_KEPT:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = state, step
        return step

    def _read(self, state: State, buffer: bytes, *, final: bool) -> _Step:
        found: list[Lexeme] = []
        stack, _, operand, indentation = state
        place, size = 0, len(buffer)
        while place < size:
            top = stack[-1] if stack else None
            match = ((top.body if top else None) or self._code[operand]).match(buffer, place)
            group = match.lastgroup if match else None
            if match is None or group is None or group == "lead":
                break
            start, end = match.end("lead"), match.end()
            if not final and size - start <= _LONGEST_WAIT and self._may_grow(buffer, start, end, group, top):
                break
            if not final and end == size and group in _GROWING:
                break
            if group == "drop":  # where a string or comment ends without a sign; the place is read again
                stack = stack[:-1]
                continue
            lead, text = buffer[place:start], buffer[start:end]
            if b"\n" in lead:
                indentation = lead[lead.rfind(b"\n") + 1 :]
            kind = _kind(group, text, top)
            stack = self._follow(stack, group, match, text, indentation)
            if kind is not Kind.COMMENT:
                operand = kind in _OPERANDS or text in _OPERAND_WORDS
            found.append(Lexeme(kind, lead, text))
            place = end
        return State(stack, buffer[place:], operand, indentation), tuple(found)

    def _may_grow(self, buffer: bytes, start: int, end: int, group: str, top: Frame | None) -> bool:
        """Whether what begins at `start`, near the end of `buffer`, could yet be another lexeme."""
        rest = buffer[start:]
        if top is None or top.body is None:
            return rest in self._waits or self._unfinished.fullmatch(rest) is not None
        if rest == b"\\" or (rest[:2] == b"\\N" and group == "other"):
            return True
        if top.opener == b"/":  # a regular expression: its class, its flags
            return (rest[:1] == b"[" and group == "other") or (group == "end" and end == len(buffer))
        waits = (top.close, *((b"{{", b"}}", b"${") if top.within is Within.STRING else (b"/*",)))
        return any(len(rest) < len(sign) and sign.startswith(rest) for sign in waits)

    def _follow(
        self, stack: tuple[Frame, ...], group: str, match: re.Match[bytes], text: bytes, indentation: bytes
    ) -> tuple[Frame, ...]:
        """The stack after a lexeme."""
        if group == "close":
            return _closed(stack, text)
        if group == "end":
            return stack[:-1]
        opened = self._open(stack, group, match, text, indentation)
        return stack if opened is None else (*stack, opened)

    def _open(
        self, stack: tuple[Frame, ...], group: str, match: re.Match[bytes], text: bytes, indentation: bytes
    ) -> Frame | None:
        """What a lexeme opens."""
        if group[:6] == "string":
            return self._string(int(group[6:]), match, text, indentation)
        if group == "block":
            close = self._blocks[text]
            body = patterns.block(text, close, nested=self._facts.nested_comments)
            return Frame(Within.COMMENT, text, close, indentation, body)
        if group == "operator" and text == b":" and stack and stack[-1][:2] == (Within.HOLE, b"{"):
            group = "format"
        kind = _OPENING.get(group)
        if kind is None:
            return None
        within, close, pattern = kind
        return Frame(within, text, close or _PAIRS.get(text, b""), indentation, pattern)

    def _string(self, number: int, match: re.Match[bytes], text: bytes, indentation: bytes) -> Frame:
        rule = self._facts.strings[number]
        mark = match.group(f"mark{number}") if "mark" in rule.opener else b""
        close = rule.close.encode().replace(b"%", mark)
        return Frame(Within.STRING, text, close, indentation, patterns.string(rule, close))


def _kind(group: str, text: bytes, top: Frame | None) -> Kind:
    if group == "name":
        return Kind.KEYWORD if text in KEYWORDS else Kind.NAME
    if group[:6] == "string":
        return Kind.QUOTE
    kind = _KINDS.get(group)
    if kind is not None:
        return kind
    if top is not None and top.within is Within.COMMENT:
        return Kind.COMMENT
    return Kind.QUOTE if group == "end" else Kind.TEXT


def _closed(stack: tuple[Frame, ...], sign: bytes) -> tuple[Frame, ...]:
    """The stack after a closing bracket; one that fits nothing open in this piece of code is passed over."""
    for place in range(len(stack) - 1, -1, -1):
        frame = stack[place]
        if frame.within > Within.HOLE:
            break
        if frame.close == sign:
            return stack[:place]
        if frame.within is Within.HOLE:
            break
    return stack


@cache
def lexer(language: str) -> Lexer:
    """The lexer of `language`, as named in `syntax_rules.LANGUAGES`."""
    return Lexer(language)
