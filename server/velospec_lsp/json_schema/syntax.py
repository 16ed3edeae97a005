"""JSON read up to a place in it: a pushdown automaton over its tokens, which stops where the text does.

It knows no values and no schema. Comments are spaces to it (`blank_comments`). Outside of `strict` a comma
before a closing bracket is let pass, since many files have it; what we write has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

_TOKEN = re.compile(r'\s+|"(?:[^"\\\n]|\\.)*(?:"|\\?\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+|.', re.DOTALL)
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_NOT_BLANK = re.compile(r"[^\n]")
WORD = re.compile(r"[\w.+-]")
"""A character that goes on with a number or word."""
CLOSERS = {"{": "}", "[": "]"}


class Expect(Enum):
    """What may come next."""

    VALUE = auto()
    VALUE_OR_END = auto()  # behind "["
    KEY = auto()  # behind a comma
    KEY_OR_END = auto()  # behind "{"
    COLON = auto()
    COMMA_OR_END = auto()
    NOTHING = auto()  # behind the document's value


_VALUES = frozenset({Expect.VALUE, Expect.VALUE_OR_END})
_KEYS = frozenset({Expect.KEY, Expect.KEY_OR_END})
_CLOSABLE = frozenset({Expect.VALUE_OR_END, Expect.KEY_OR_END, Expect.COMMA_OR_END})


@dataclass(frozen=True, slots=True)
class State:
    """A place in JSON: the open brackets, the last key in each, what may come, and the unfinished token.

    `keys` runs parallel to `stack`; an array's is empty. A string in it stands with its quotes.
    """

    stack: str = ""
    keys: tuple[str, ...] = ()
    expect: Expect = Expect.VALUE
    open: str = ""  # a string without its end, or a number or word that may go on

    @property
    def in_string(self) -> bool:
        return self.open.startswith('"')

    @property
    def in_key(self) -> bool:
        return self.in_string and self.expect in _KEYS

    @property
    def wants_value(self) -> bool:
        return self.expect in _VALUES

    @property
    def wants_key(self) -> bool:
        return self.expect in _KEYS

    @property
    def closable(self) -> bool:
        """Whether the open brackets could be closed here."""
        return not self.open and (self.expect in _CLOSABLE or self.expect is Expect.NOTHING)

    @property
    def closers(self) -> str:
        return "".join(CLOSERS[opener] for opener in reversed(self.stack))


START = State()


def steps(state: State, text: str, *, strict: bool = False) -> Iterator[tuple[int, State]]:
    """The state behind each token of `text`, with the index in `text` where the token ends.

    Ends early where a token is out of place: the last index is then before the last token.
    """
    whole = state.open + text
    state = State(state.stack, state.keys, state.expect)
    shift = len(whole) - len(text)
    for found in _TOKEN.finditer(whole):
        lexeme = found[0]
        if lexeme.isspace():
            continue
        if found.end() == len(whole) and _unfinished(lexeme):
            allowed = _VALUES | _KEYS if lexeme.startswith('"') else _VALUES
            if state.expect in allowed:
                yield len(text), State(state.stack, state.keys, state.expect, lexeme)
            return
        following = _move(state, lexeme, strict=strict)
        if following is None:
            return
        state = following
        yield found.end() - shift, state


def advance(state: State, text: str, *, strict: bool = False) -> tuple[State, int]:
    """The state behind `text`, and how far it could be read: to its end, if every token was in place."""
    index, last = 0, state
    for step in steps(state, text, strict=strict):
        index, last = step
    return last, len(text) if not text[index:].strip() else index


def finished(state: State) -> State:
    """`state` once it is known that its open number or word does not go on."""
    if not state.open or state.in_string:
        return state
    return _move(State(state.stack, state.keys, state.expect), state.open, strict=True) or state


def tokens(text: str) -> Iterator[str]:
    """The tokens of `text`, blanks left out, whatever their order."""
    for found in _TOKEN.finditer(text):
        if not found[0].isspace():
            yield found[0]


def inside_comment(text: str) -> bool:
    """Whether the end of `text` lies in a comment."""
    if "//" not in text and "/*" not in text:
        return False
    last = ""
    for found in _COMMENT.finditer(text):
        if found.end() == len(text):
            last = found[0]
    closed = last.startswith("/*") and last.endswith("*/") and len(last) > 3
    return last.startswith("/") and not closed


def blank_comments(text: str) -> str:
    """`text` with its comments and its byte order mark made spaces, place by place the same."""
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(
        lambda found: found[0] if found[0].startswith('"') else _NOT_BLANK.sub(" ", found[0]), text
    )


def without_trailing_commas(text: str) -> str:
    """`text` (without comments) with the commas before closing brackets made spaces."""
    return _TRAILING_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)


def string_end(state: State, suffix: str) -> int | None:
    """Where in `suffix` the string that is open at the cursor ends, behind its quote; None if it does not.

    An odd number of quotes in the rest of the line means that the first of them is its end.
    """
    line = suffix.partition("\n")[0]
    quotes = [found.start() for found in re.finditer(r'(?:\\.|[^"\\])*?"', line)]
    if not state.in_string or len(quotes) % 2 == 0:
        return None
    first = re.match(r'(?:\\.|[^"\\])*?"', line)
    return first.end() if first else None


def _unfinished(lexeme: str) -> bool:
    if lexeme.startswith('"'):
        return len(lexeme) == 1 or not lexeme.endswith('"') or _escaped_end(lexeme)
    return lexeme not in "{}[]:,"


def _escaped_end(lexeme: str) -> bool:
    body = lexeme[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def _move(  # noqa: PLR0911  # one for each kind of token
    state: State, lexeme: str, *, strict: bool
) -> State | None:
    """The state behind `lexeme`; None where it may not stand."""
    expect = state.expect
    if lexeme in ("{", "["):
        if expect not in _VALUES:
            return None
        inside = Expect.KEY_OR_END if lexeme == "{" else Expect.VALUE_OR_END
        return State(state.stack + lexeme, (*state.keys, ""), inside)
    if lexeme in ("}", "]"):
        return _closed(state, lexeme, strict=strict)
    if lexeme == ":":
        return State(state.stack, state.keys, Expect.VALUE) if expect is Expect.COLON else None
    if lexeme == ",":
        if expect is not Expect.COMMA_OR_END:
            return None
        following = Expect.KEY if state.stack[-1] == "{" else Expect.VALUE
        return State(state.stack, (*state.keys[:-1], ""), following)
    if lexeme.startswith('"') and not _unfinished(lexeme):
        if expect in _KEYS:
            return State(state.stack, (*state.keys[:-1], lexeme), Expect.COLON)
    elif _SCALAR.fullmatch(lexeme) is None:
        return None
    return State(state.stack, state.keys, _behind_value(state.stack)) if expect in _VALUES else None


def _closed(state: State, lexeme: str, *, strict: bool) -> State | None:
    if not state.stack or CLOSERS[state.stack[-1]] != lexeme:
        return None
    behind_comma = Expect.KEY if lexeme == "}" else Expect.VALUE
    if state.expect not in _CLOSABLE and (strict or state.expect is not behind_comma):
        return None
    stack = state.stack[:-1]
    return State(stack, state.keys[:-1], _behind_value(stack))


def _behind_value(stack: str) -> Expect:
    return Expect.COMMA_OR_END if stack else Expect.NOTHING
