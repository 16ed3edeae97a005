"""Regular expressions as sets of strings: which are in all of some and in none of others.

By derivatives (Brzozowski 1964; Owens, Reppy and Turon 2009), and back to an expression by the elimination of
states. Where either grows too large, PatternError says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from velospec.constraints.json_schema.pattern_nodes import (
    LAST,
    SURROGATES,
    Chars,
    Choice,
    Node,
    PatternError,
    Ranges,
    Repeat,
    Sequence,
)

_MOST_STATES = 400
_MOST_ELIMINATED = 60
_LONGEST = 4000  # parts of an expression made of an automaton

NOTHING = Choice(())
EMPTY = Sequence(())


def sequence(parts: Iterable[Node]) -> Node:
    """The parts one behind the other, simplified."""
    flat: list[Node] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        flat += part.parts if isinstance(part, Sequence) else [part]
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def choice(options: Iterable[Node]) -> Node:
    """One of the options, simplified: each once, single characters together."""
    flat: dict[Node, None] = {}
    ranges: list[tuple[int, int]] = []
    for option in options:
        for inner in option.options if isinstance(option, Choice) else (option,):
            if isinstance(inner, Chars):
                ranges += inner.ranges
            else:
                flat[inner] = None
    if ranges:
        flat[Chars(_merged(ranges))] = None
    found = sorted(flat, key=hash)
    return found[0] if len(found) == 1 else Choice(tuple(found))


def repeat(node: Node, least: int, most: int | None) -> Node:
    """`node` repeated, simplified."""
    if most == 0 or node in {NOTHING, EMPTY}:
        return EMPTY if least == 0 or node == EMPTY else NOTHING
    return node if least == most == 1 else Repeat(node, least, most)


@lru_cache(maxsize=20_000)
def nullable(node: Node) -> bool:
    """Whether `node` matches the empty string."""
    match node:
        case Sequence(parts):
            return all(map(nullable, parts))
        case Choice(options):
            return any(map(nullable, options))
        case Repeat(inner, least, _):
            return least == 0 or nullable(inner)
    return False


@lru_cache(maxsize=50_000)
def derivative(node: Node, code: int) -> Node:
    """What has to follow on the character `code`."""
    match node:
        case Chars(ranges):
            return EMPTY if any(low <= code <= high for low, high in ranges) else NOTHING
        case Choice(options):
            return choice(derivative(option, code) for option in options)
        case Repeat(inner, least, most):
            rest = repeat(inner, max(least - 1, 0), None if most is None else most - 1)
            return sequence((derivative(inner, code), rest))
        case Sequence(parts):
            found = []
            for place, part in enumerate(parts):
                found.append(sequence((derivative(part, code), *parts[place + 1 :])))
                if not nullable(part):
                    break
            return choice(found)
    raise PatternError("an anchor stands in its middle")


class Automaton:
    """The strings that are in all of `inside` and in none of `outside`."""

    def __init__(self, inside: Iterable[Node], outside: Iterable[Node] = ()) -> None:
        """Raises PatternError where it has too many states."""
        nodes = (*inside, *outside)
        count = len(nodes) - len(tuple(outside))
        self._classes = _partition(nodes)
        start = nodes
        self.edges: dict[tuple[Node, ...], dict[tuple[Node, ...], Ranges]] = {}
        waiting = [start]
        while waiting:
            state = waiting.pop()
            if state in self.edges:
                continue
            if len(self.edges) >= _MOST_STATES:
                raise PatternError("it needs too many states")
            out: dict[tuple[Node, ...], list[tuple[int, int]]] = {}
            for ranges in self._classes:
                after = tuple(derivative(node, ranges[0][0]) for node in state)
                if NOTHING not in after[:count]:
                    out.setdefault(after, []).extend(ranges)
            self.edges[state] = {after: _merged(ranges) for after, ranges in out.items()}
            waiting += out
        self.start = start
        self.accepting = {
            state
            for state in self.edges
            if all(map(nullable, state[:count])) and not any(map(nullable, state[count:]))
        }
        self._trim()

    @property
    def empty(self) -> bool:
        """Whether there is no such string."""
        return self.start not in self.edges

    def _trim(self) -> None:
        """Drop the states that lead nowhere."""
        before: dict[tuple[Node, ...], list[tuple[Node, ...]]] = {}
        for state, out in self.edges.items():
            for after in out:
                before.setdefault(after, []).append(state)
        alive = set(self.accepting)
        waiting = list(alive)
        while waiting:
            for state in before.get(waiting.pop(), ()):
                if state not in alive:
                    alive.add(state)
                    waiting.append(state)
        self.edges = {
            state: {after: ranges for after, ranges in out.items() if after in alive}
            for state, out in self.edges.items()
            if state in alive
        }

    def expression(self) -> Node:
        """The same strings as an expression. Raises PatternError where it would be too long."""
        if self.empty:
            return NOTHING
        if len(self.edges) > _MOST_ELIMINATED:
            raise PatternError("it needs too many states")
        numbers = {state: number for number, state in enumerate(self.edges)}
        first, last = len(numbers), len(numbers) + 1
        table: dict[int, dict[int, Node]] = {number: {} for number in (*numbers.values(), first, last)}
        for state, out in self.edges.items():
            for after, ranges in out.items():
                table[numbers[state]][numbers[after]] = Chars(ranges)
            if state in self.accepting:
                table[numbers[state]][last] = EMPTY
        table[first][numbers[self.start]] = EMPTY
        while len(table) > 2:
            gone = min(
                (number for number in table if number not in {first, last}),
                key=lambda number: len(table[number]) * sum(number in out for out in table.values()),
            )
            _eliminate(table, gone)
        return table[first].get(last, NOTHING)


def _eliminate(table: dict[int, dict[int, Node]], gone: int) -> None:
    out = table.pop(gone)
    loop = repeat(out.pop(gone), 0, None) if gone in out else EMPTY
    for edges in table.values():
        into = edges.pop(gone, None)
        if into is None:
            continue
        for after, node in out.items():
            way = sequence((into, loop, node))
            edges[after] = choice((edges[after], way)) if after in edges else way
            if _size(edges[after]) > _LONGEST:
                raise PatternError("what is left beside it is too long")


def _size(node: Node) -> int:
    match node:
        case Sequence(parts) | Choice(parts):
            return 1 + sum(map(_size, parts))
        case Repeat(inner):
            return 1 + _size(inner)
        case Chars(ranges):
            return len(ranges)
    return 1


def _partition(nodes: Iterable[Node]) -> list[Ranges]:
    """Classes of characters that no part of `nodes` tells apart."""
    edges = {0, SURROGATES[0], SURROGATES[1] + 1, LAST + 1}
    waiting = list(nodes)
    sets: set[Ranges] = set()
    while waiting:
        match waiting.pop():
            case Chars(ranges):
                sets.add(ranges)
            case Sequence(parts) | Choice(parts):
                waiting += parts
            case Repeat(inner):
                waiting.append(inner)
    for ranges in sets:
        edges |= {edge for low, high in ranges for edge in (low, high + 1)}
    classes: dict[tuple[bool, ...], list[tuple[int, int]]] = {}
    ordered = sorted(edges)
    for low, above in pairwise(ordered):
        if low != SURROGATES[0]:
            known = tuple(any(a <= low <= b for a, b in ranges) for ranges in sets)
            classes.setdefault(known, []).append((low, above - 1))
    return [tuple(ranges) for ranges in classes.values()]


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)
