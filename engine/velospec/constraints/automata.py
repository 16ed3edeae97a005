"""Conditions on a text, as automata that read it character by character, and several of them as rules.

An engine that knows grammars only cannot ask a text for two things at once, such as a pattern and a length.
Together, automata can: their common states become rules, each with what may come next. States from which no
end can be reached are left out, so that the grammar never leads astray. Knows nothing of JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from velospec.constraints.json_schema.pattern_nodes import (
    LAST,
    SURROGATES,
    Chars,
    Choice,
    Node,
    PatternError,
    Ranges,
    Repeat,
)
from velospec.constraints.json_schema.pattern_nodes import Sequence as Row

MOST_STATES = 4_000


S = TypeVar("S")


class Automaton(Protocol[S]):
    """A condition on a text; S is what it knows of the text so far, its state, which is hashable."""

    @property
    def start(self) -> S:
        """The state before the text."""
        ...

    def step(self, state: S, code: int) -> S | None:
        """The state behind the character `code`; None where no text with it can do."""
        ...

    def accepts(self, state: S) -> bool:
        """Whether the text may end in `state`."""
        ...


_END = -1  # the place in a pattern behind all of it


class TooLargeError(ValueError):
    """Automata have more common states than a grammar should."""


def common_rules(
    automata: Sequence[Automaton[Any]],
    edges: Iterable[int],
    name: str,
    end: str,
    written: Callable[[Ranges], list[str]],
) -> list[str]:
    """Rules, the first of them `name`0, for the texts that all `automata` accept, followed by `end`.

    `edges` are the code points where a range of characters that are alike begins; `written` writes one such
    set as symbols, any of which will do. Raises TooLargeError; no rules where there is no such text.
    """
    moves, accepting = _explored(automata, _classes(edges))
    live = _live(moves, accepting)
    if 0 not in live:
        return []
    rules = []
    for state in sorted(live):
        by_target: dict[int, list[tuple[int, int]]] = {}
        for target, span in moves[state]:
            if target in live:
                by_target.setdefault(target, []).append(span)
        options = [end] if state in accepting else []
        options += [
            f"{symbol} {name}{target}"
            for target, spans in by_target.items()
            for symbol in written(_merged(spans))
        ]
        rules.append(f"{name}{state} ::= {' | '.join(options)}")
    return rules


def _classes(edges: Iterable[int]) -> Ranges:
    """The characters between `edges`, as ranges; surrogates are no characters."""
    starts = sorted({0, SURROGATES[0], SURROGATES[1] + 1, LAST + 1, *edges})
    spans = pairwise(starts)
    return tuple(
        (low, high - 1) for low, high in spans if not SURROGATES[0] <= low <= SURROGATES[1] and low <= LAST
    )


def _explored(
    automata: Sequence[Automaton[Any]], classes: Ranges
) -> tuple[list[list[tuple[int, tuple[int, int]]]], set[int]]:
    """The moves of each common state, numbered from the start on, and the accepting ones."""
    start = tuple(automaton.start for automaton in automata)
    numbers = {start: 0}
    moves: list[list[tuple[int, tuple[int, int]]]] = []
    accepting = set()
    waiting = [start]
    for state in waiting:  # grows while it is read
        number = len(moves)
        moves.append([])
        if all(automaton.accepts(own) for automaton, own in zip(automata, state, strict=True)):
            accepting.add(number)
        for span in classes:
            after = tuple(
                automaton.step(own, span[0]) for automaton, own in zip(automata, state, strict=True)
            )
            if None in after:
                continue
            if after not in numbers:
                if len(numbers) == MOST_STATES:
                    raise TooLargeError(f"together they need more than {MOST_STATES} states")
                numbers[after] = len(numbers)
                waiting.append(after)
            moves[number].append((numbers[after], span))
    return moves, accepting


def _live(moves: Sequence[Sequence[tuple[int, tuple[int, int]]]], accepting: set[int]) -> set[int]:
    """The states from which an accepting one can be reached."""
    before: dict[int, list[int]] = {}
    for state, steps in enumerate(moves):
        for target, _ in steps:
            before.setdefault(target, []).append(state)
    live, waiting = set(accepting), list(accepting)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in live:
                live.add(state)
                waiting.append(state)
    return live


def _merged(spans: Sequence[tuple[int, int]]) -> Ranges:
    """`spans`, which are in order, with neighbours made one."""
    merged = [spans[0]]
    for low, high in spans[1:]:
        if merged[-1][1] + 1 == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


class Length:
    """Between `least` and `most` characters. A state is how many there were, as far as it matters."""

    start = 0

    def __init__(self, least: int, most: int | None) -> None:
        self._least = least
        self._most = most

    def step(self, state: int, code: int) -> int | None:  # noqa: ARG002 - each character counts alike
        if self._most is None:
            return min(state + 1, self._least)
        return state + 1 if state < self._most else None

    def accepts(self, state: int) -> bool:
        return state >= self._least


class OtherThan:
    """Any text but `texts`. A state is what was read while one of them begins so, and one for the rest."""

    start = ""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        self._beginnings = {text[:length] for text in self._texts for length in range(len(text) + 1)}
        self._apart = max(self._texts, key=len, default="") + "."  # no beginning of any

    def step(self, state: str, code: int) -> str:
        read = state + chr(code)
        return read if read in self._beginnings else self._apart

    def accepts(self, state: str) -> bool:
        return state not in self._texts

    @property
    def edges(self) -> set[int]:
        """Where ranges of characters begin that are alike to it."""
        return {edge for text in self._texts for char in text for edge in (ord(char), ord(char) + 1)}


class Pattern:
    """A regular expression for the whole text, as Thompson's automaton.

    A state is the set of places that the texts read so far may have come to: numbers of steps of a program,
    each of which reads a character of some ranges and goes on at other places.
    """

    def __init__(self, node: Node) -> None:
        self._reads: list[Ranges] = []
        self._then: list[frozenset[int]] = []
        self.start = self._entry(node, frozenset({_END}))

    def step(self, state: frozenset[int], code: int) -> frozenset[int] | None:
        after = frozenset(
            place
            for step in state
            if step != _END and any(low <= code <= high for low, high in self._reads[step])
            for place in self._then[step]
        )
        return after or None

    def accepts(self, state: frozenset[int]) -> bool:
        return _END in state

    @property
    def edges(self) -> set[int]:
        """Where ranges of characters begin that are alike to it."""
        return {edge for ranges in self._reads for low, high in ranges for edge in (low, high + 1)}

    def _entry(self, node: Node, then: frozenset[int]) -> frozenset[int]:
        """The places where `node` begins that go on at `then`."""
        match node:
            case Chars(ranges):
                return frozenset({self._add(ranges, then)})
            case Row(parts):
                for part in reversed(parts):
                    then = self._entry(part, then)
                return then
            case Choice(options):
                return frozenset(place for option in options for place in self._entry(option, then))
            case Repeat(inner, least, most):
                return self._repeated(inner, least, most, then)
        raise PatternError("an anchor stands in its middle")

    def _repeated(self, inner: Node, least: int, most: int | None, then: frozenset[int]) -> frozenset[int]:
        if most is None:
            # Its ends lead back to where it begins, known only when it is made: a mark stands for that.
            mark = self._add((), frozenset())
            again = (self._entry(inner, then | {mark}) - {mark}) | then
            for step in range(mark + 1, len(self._then)):
                if mark in self._then[step]:
                    self._then[step] = (self._then[step] - {mark}) | again
            then = again
        else:
            for _ in range(most - least):
                then = self._entry(inner, then) | then
        for _ in range(least):
            then = self._entry(inner, then)
        return then

    def _add(self, ranges: Ranges, then: frozenset[int]) -> int:
        if len(self._reads) == MOST_STATES:
            raise TooLargeError(f"a pattern needs more than {MOST_STATES} states")
        self._reads.append(ranges)
        self._then.append(then)
        return len(self._reads) - 1
