"""One language compiled: from the bytes of a text to the rules that apply at its end, and its indentation.

Lexer and pattern automaton run side by side; a pair of their states is a state here. Knows no tokens.
"""

from __future__ import annotations

from typing import NamedTuple

from velospec.proposers.syntax_rules.base import INDENTED, MACROS, Language
from velospec.proposers.syntax_rules.lexer import CODE, Lexer, Mode
from velospec.proposers.syntax_rules.pattern import Automaton, Match

_NEWLINE, _RETURN = 10, 13
_BLANKS = b" \t"
_SHIFTS = "\t\b"
_MOST_STATES = 20_000  # about 250 bytes each; real code makes some 2,500


class Effect(NamedTuple):
    """What some bytes do. `depth_...` count joining brackets opened less those closed.

    With `newline`, `depth_before` counts up to the last line end and `depth_after` from there; without, all
    is in `depth_after`. `indentation` is what the bytes add to the whitespace that begins the (new) line, and
    `begins` says that something follows it.
    """

    state: int
    newline: bool
    depth_before: int
    indentation: bytes
    begins: bool
    depth_after: int


class State(NamedTuple):
    """A text's end: in a string or comment or not, the patterns' state, and how its line stands."""

    mode: Mode
    patterns: int
    line: int  # one of the three below


_EMPTY, _WHITESPACE, _BEGUN = range(3)


class Machine:
    """The byte machine of one language. States are numbers; `START` is the start of a text.

    Where too many states are kept, what would be another is `START`: the text before is forgotten.
    """

    START = 0

    def __init__(self, language: Language) -> None:
        self.language = language
        self._lexer = Lexer(language.lexis)
        self._automaton = Automaton()
        self._joining = {ord(sign): 1 - 2 * (i % 2) for i, sign in enumerate(language.lexis.joining)}
        for number, rule in enumerate(language.rules):
            self._automaton.add(number, expand(rule.left), self._visible(rule.text))
        start = State(CODE, self._automaton.step(0, _NEWLINE), _EMPTY)
        self._states = [start]
        self._numbers = {start: self.START}
        self._matches: dict[int, tuple[Match, ...]] = {}

    def fresh(self, state: int) -> bool:
        """Whether the line holds nothing but whitespace so far."""
        return self._states[state].line != _BEGUN

    def in_code(self, state: int) -> bool:
        """Whether `state` lies outside of strings and comments."""
        return self._states[state].mode.code

    def matches(self, state: int) -> tuple[Match, ...]:
        """The rules that apply in `state`; none inside strings and comments."""
        known = self._matches.get(state)
        if known is None:
            mode, patterns, line = self._states[state]
            found = self._automaton.matches(patterns) if mode.code else []
            # At the start of a line only a text that is under way knows how deep it goes on.
            known = self._matches[state] = tuple(match for match in found if match.written or line == _BEGUN)
        return known

    def walk(self, state: int, data: bytes) -> Effect:
        """What `data` does in `state`."""
        mode, patterns, line = self._states[state]
        newline, begins = False, False
        before = after = 0
        indentation = bytearray()
        for byte in data:
            if byte == _RETURN:
                continue
            code = mode.code
            mode, seen = self._lexer.step(mode, byte)
            if byte == _NEWLINE and seen:
                newline, line, begins = True, _EMPTY, False
                before, after = before + after, 0
                indentation.clear()
            elif line != _BEGUN and byte in _BLANKS:
                indentation.append(byte)
                line = _WHITESPACE
                continue
            elif line != _BEGUN:
                if line == _WHITESPACE:
                    patterns = self._automaton.step(patterns, INDENTED)
                line, begins = _BEGUN, True
            if seen:
                patterns = self._automaton.step(patterns, byte)
                after += self._joining.get(byte, 0) if code and mode.code else 0
        number = self._number(State(mode, patterns, line))
        return Effect(number, newline, before, bytes(indentation), begins, after)

    def _number(self, state: State) -> int:
        number = self._numbers.get(state)
        if number is None:
            if len(self._states) >= _MOST_STATES:
                return self.START
            number = self._numbers[state] = len(self._states)
            self._states.append(state)
        return number

    def _visible(self, text: str) -> list[tuple[int, int]]:
        """The bytes of a rule's text that patterns see, each with how much of the text ends with it."""
        pairs: list[tuple[int, int]] = []
        mode = CODE
        for index, letter in enumerate(text):
            if letter in _SHIFTS and pairs:
                pairs[-1] = (pairs[-1][0], index + 1)
                continue
            mode, seen = self._lexer.step(mode, ord(letter))
            if seen:
                pairs.append((ord(letter), index + 1))
        return pairs


def expand(left: str) -> str:
    """`left` with its abbreviations written out."""
    for name, meaning in MACROS.items():
        left = left.replace(name, meaning)
    return left


def render(text: str, written: int, indentation: bytes, unit: bytes, present: bytes | None) -> bytes | None:
    """What is left to write of a rule's `text`, of which `written` letters stand.

    `indentation` is that of the line before the next line end; `present` the whitespace of a line that holds
    nothing else, None where the line holds more. None where that whitespace does not fit.
    """
    out = bytearray()
    rest = text[written:]
    if present is not None:
        indentation = _shift(text[:written], indentation, unit)
        due = b"" if rest.startswith("\n") else indentation  # a blank line holds no whitespace
        if not due.startswith(present):
            return None
        out += due[len(present) :]
    first, *lines = rest.split("\n")
    out += first.encode()
    for number, line in enumerate(lines, start=1):
        stripped = line.lstrip(_SHIFTS)
        indentation = _shift(line[: len(line) - len(stripped)], indentation, unit)
        blank = not stripped and number < len(lines)
        out += b"\n" if blank else b"\n" + indentation + stripped.encode()
    return bytes(out)


def _shift(text: str, indentation: bytes, unit: bytes) -> bytes:
    """`indentation` shifted by the signs that `text` ends with."""
    signs = text[len(text.rstrip(_SHIFTS)) :]
    for sign in signs:
        indentation = indentation + unit if sign == "\t" else indentation.removesuffix(unit)
    return indentation
