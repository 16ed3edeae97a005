"""Turns the left sides of rules into one automaton over bytes: Glushkov's construction, states made as met.

A position is one byte (or class of bytes) of one rule. A state is the set of positions that the text may end
at; its next states are worked out the first time they are asked for, and kept. Every rule may begin anywhere.
Knows no strings, no indentation and no tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from velospec.core.errors import VeloSpecError
from velospec.proposers.syntax_rules.base import INDENTED

_ALL = frozenset(range(256))
_DIGIT = frozenset(b"0123456789")
_WORD = frozenset(byte for byte in _ALL if byte > 127 or chr(byte).isalnum() or byte == ord("_"))
_CLASSES = {
    "n": frozenset(b"\n"),
    "w": _WORD,
    "i": _WORD - _DIGIT,
    "d": _DIGIT,
    "b": _ALL - _WORD,
}
_NEWLINE = 10
_MOST_STATES = 8_000


class Match(NamedTuple):
    """A rule that applies here: its number, and how many bytes of its text stand here already."""

    rule: int
    written: int


class PatternError(VeloSpecError):
    """A rule's left side cannot be read: a mistake in the rules, never in what a user did."""


class _Fragment(NamedTuple):
    """Part of an expression: whether it may be empty, and the positions that it may begin and end with."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


_NOTHING = _Fragment(empty=True, first=frozenset(), last=frozenset())


class Automaton:
    """The automaton of a list of rules. State 0 is the start of a text; `step` goes on, `matches` tells."""

    def __init__(self) -> None:
        self._symbols: list[frozenset[int]] = []
        self._follow: list[set[int]] = []
        self._matches: dict[int, list[Match]] = {}
        self._first: set[int] = set()
        self._clear()

    def add(self, rule: int, left: str, text: Sequence[tuple[int, int]]) -> None:
        """Add `rule`: after `left` comes a text of (byte, bytes of the text written with it) pairs.

        The rule applies where `left` ends, and again after each byte of its text but the last, so that a
        text that is written in part is still known. Raises PatternError.
        """
        fragment = _Parser(left, self._symbols, self._follow).parse()
        if fragment.empty:
            raise PatternError(f"The pattern {left!r} matches everywhere.", "Let it name at least one byte.")
        self._first |= fragment.first
        written, last = 0, fragment.last
        for byte, after in text:
            self._mark(last, Match(rule, written))
            written, last = after, self._append(last, byte)
            if byte == _NEWLINE:  # the line may be indented or not
                last |= self._append(last, INDENTED)
        self._clear()

    def step(self, state: int, byte: int) -> int:
        """The state after `byte`. Starts anew, from no memory of the text, where too many states are kept."""
        key = state << 8 | byte
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self._work_out(state, byte)
        return known

    def matches(self, state: int) -> list[Match]:
        """The rules that apply in `state`."""
        found = (match for position in self._states[state] for match in self._matches.get(position, ()))
        return sorted(set(found))

    def _append(self, before: Iterable[int], byte: int) -> frozenset[int]:
        position = len(self._symbols)
        self._symbols.append(frozenset((byte,)))
        self._follow.append(set())
        for earlier in before:
            self._follow[earlier].add(position)
        return frozenset((position,))

    def _mark(self, positions: Iterable[int], match: Match) -> None:
        for position in positions:
            self._matches.setdefault(position, []).append(match)

    def _clear(self) -> None:
        self._states: list[tuple[int, ...]] = [()]
        self._numbers: dict[int, int] = {0: 0}
        self._steps: dict[int, int] = {}
        self._follow_masks: list[int] = []
        self._byte_masks: dict[int, int] = {}

    def _work_out(self, state: int, byte: int) -> int:
        """Positions as the bits of an integer, so that a step is a few operations on integers."""
        if not self._follow_masks:
            self._follow_masks = [_mask(follow) for follow in self._follow]
            self._first_mask = _mask(self._first)
        allowed = self._byte_masks.get(byte)
        if allowed is None:
            allowed = _mask(p for p, symbol in enumerate(self._symbols) if byte in symbol)
            self._byte_masks[byte] = allowed
        reached = self._first_mask
        for position in self._states[state]:
            reached |= self._follow_masks[position]
        reached &= allowed
        number = self._numbers.get(reached)
        if number is None:
            if len(self._states) >= _MOST_STATES:
                return 0
            number = self._numbers[reached] = len(self._states)
            self._states.append(_bits(reached))
        return number


def _mask(positions: Iterable[int]) -> int:
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def _bits(mask: int) -> tuple[int, ...]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(found)


class _Parser:
    """Reads one expression by descent, and writes its positions and what may follow each."""

    def __init__(self, text: str, symbols: list[frozenset[int]], follow: list[set[int]]) -> None:
        self._text = text
        self._at = 0
        self._symbols = symbols
        self._follow = follow

    def parse(self) -> _Fragment:
        whole = self._either()
        if self._at < len(self._text):
            raise self._error("an unmatched bracket")
        return whole

    def _either(self) -> _Fragment:
        found = self._sequence()
        while self._take("|"):
            other = self._sequence()
            found = _Fragment(found.empty or other.empty, found.first | other.first, found.last | other.last)
        return found

    def _sequence(self) -> _Fragment:
        whole = _NOTHING
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            whole = self._concatenate(whole, self._repeated())
        return whole

    def _repeated(self) -> _Fragment:
        part = self._atom()
        while self._at < len(self._text) and (sign := self._text[self._at]) in "*+?":
            self._at += 1
            if sign != "?":
                self._join(part, part)
            part = _Fragment(part.empty or sign != "+", part.first, part.last)
        return part

    def _atom(self) -> _Fragment:
        if self._take("("):
            inside = self._either()
            if not self._take(")"):
                raise self._error("an open group")
            return inside
        if self._take("["):
            return self._position(self._class())
        if self._take("."):
            return self._position(_ALL - {10})
        if self._take("^"):
            return self._line_start(indented=False)
        if self._take("\\t"):
            return self._line_start(indented=True)
        if self._text[self._at] in "*+?])":
            raise self._error("a sign that repeats nothing")
        return self._position(self._letter())

    def _line_start(self, *, indented: bool) -> _Fragment:
        """A newline and the sign of an indented line, which may be missing unless `indented`."""
        newline = self._position(_CLASSES["n"])
        sign = self._position(frozenset((INDENTED,)))
        return self._concatenate(newline, sign if indented else sign._replace(empty=True))

    def _class(self) -> frozenset[int]:
        others = self._take("^")
        found: set[int] = set()
        while not self._take("]"):
            if self._at >= len(self._text):
                raise self._error("an open class")
            low = self._letter()
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                found.update(range(min(low), max(self._letter()) + 1))
            else:
                found |= low
        return _ALL - found if others else frozenset(found)

    def _letter(self) -> frozenset[int]:
        letter = self._text[self._at]
        self._at += 1
        if letter == "\\":
            letter = self._text[self._at : self._at + 1]
            self._at += 1
            if letter in _CLASSES:
                return _CLASSES[letter]
        if len(code := letter.encode()) != 1:
            raise self._error("a letter that is not one byte")
        return frozenset(code)

    def _position(self, symbol: frozenset[int]) -> _Fragment:
        number = len(self._symbols)
        self._symbols.append(symbol)
        self._follow.append(set())
        return _Fragment(empty=False, first=frozenset((number,)), last=frozenset((number,)))

    def _concatenate(self, one: _Fragment, two: _Fragment) -> _Fragment:
        self._join(one, two)
        first = one.first | two.first if one.empty else one.first
        last = two.last | one.last if two.empty else two.last
        return _Fragment(one.empty and two.empty, first, last)

    def _join(self, before: _Fragment, after: _Fragment) -> None:
        for position in before.last:
            self._follow[position] |= after.first

    def _take(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += len(sign) if found else 0
        return found

    def _error(self, what: str) -> PatternError:
        return PatternError(f"The pattern {self._text!r} has {what}.", "Correct the rule.")
