"""The names of members that an object's schema does not list, in classes to which different schemas apply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any

from velospec.constraints.json_schema.automaton import Automaton, sequence
from velospec.constraints.json_schema.documents import Document, Keywords, Place
from velospec.constraints.json_schema.negation import NEVER
from velospec.constraints.json_schema.pattern_nodes import ANYTHING, Chars, Choice, Node, PatternError
from velospec.constraints.json_schema.patterns import (
    ANYTHING_GOES,
    other_than,
    whole_match,
    whole_node,
    write,
)
from velospec.constraints.json_schema.refusals import Refusal, Refusals

State = tuple[Place, ...]

_MOST_OVERLAPPING = 5  # patterns that overlap: each of them may double the classes


def matches(pattern: str, name: str) -> bool:
    """Whether `pattern`, of ECMA 262, is found in `name`. Raises PatternError."""
    return re.fullmatch(whole_match(pattern)[1:-1], name) is not None


def tidy(state: Iterable[Place]) -> State:
    """`state` without what says nothing; NEVER alone where nothing can satisfy it."""
    places = tuple(state)
    if any(place.schema is False for place in places):
        return (NEVER,)
    return tuple(dict.fromkeys(place for place in places if place.schema is not True))


def limits_of(document: Document, place: Place) -> dict[str, Any] | None:
    """What a schema for names says, as an `enum` or a `pattern`; None where it says more than that."""
    if isinstance(place.schema, bool):
        return {} if place.schema else {"enum": []}
    words = document.keywords(place)
    said = {key for key, value in words.items() if value and key != "type"}
    if said == {"$ref"}:
        return limits_of(document, words["$ref"])
    if said == {"enums"} and len(words["enums"]) == 1:
        return {"enum": [name for name in words["enums"][0] if isinstance(name, str)]}
    if said == {"pattern"}:
        return {"pattern": words["pattern"]}
    if said and said <= {"minLength", "maxLength"}:
        return {"pattern": f"^[^]{{{int(words.get('minLength', 0))},{words.get('maxLength', '')}}}$"}
    return None if said else {}


class NameClasses:
    """Finds the classes, one object at a time."""

    def __init__(self, document: Document, refusals: Refusals) -> None:
        self._document = document
        self._refusals = refusals

    def classes(self, variant: State, named: Mapping[str, State]) -> dict[str, State]:
        """What applies to members that are not `named`, by patterns of their names that exclude each other.

        The patterns are in the common notation; those that match a name in `named` have a state of their own
        that this name's state agrees with.
        """
        words = [self._document.keywords(place) for place in variant]
        limits: list[str] = []
        for place, each in zip(variant, words, strict=True):
            if "propertyNames" in each:
                limit = limits_of(self._document, each["propertyNames"])
                if limit is None:
                    why = '"propertyNames" is enforced for a pattern, lengths or an enumeration only'
                    self._refusals.meet(Refusal(place.at("propertyNames"), why))
                elif "enum" in limit:
                    return {}
                elif limit:
                    limits.append(limit["pattern"])
        patterns = dict.fromkeys(
            [*limits, *(name for each in words for name in each.get("patternProperties", ()))]
        )
        if not patterns:
            state = self._state(words, frozenset(), limits)
            return {} if NEVER in state else {_but(named, state): state}
        keyword = (
            "patternProperties" if any("patternProperties" in each for each in words) else "propertyNames"
        )
        place = next(place for place, each in zip(variant, words, strict=True) if keyword in each)
        try:
            return self._cells(words, named, list(patterns), limits)
        except PatternError as error:
            self._refusals.meet(Refusal(place.at(keyword), f'"{keyword}" is not enforced: {error}'))
            return {ANYTHING_GOES: ()}

    @staticmethod
    def _state(words: list[Keywords], matched: frozenset[str], limits: list[str]) -> State:
        """What applies to a name that matches just the patterns `matched`."""
        if not matched.issuperset(limits):
            return (NEVER,)
        state: list[Place] = []
        for each in words:
            found = [
                inner for pattern, inner in each.get("patternProperties", {}).items() if pattern in matched
            ]
            if not found and "additionalProperties" in each:
                found = [each["additionalProperties"]]
            state += found
        return tidy(state)

    def _cells(
        self, words: list[Keywords], named: Mapping[str, State], patterns: list[str], limits: list[str]
    ) -> dict[str, State]:
        found: dict[str, State] = {}
        for inside in _together(tuple(patterns)):
            state = self._state(words, inside, limits)
            if NEVER in state:
                continue
            outside = [
                pattern for pattern in patterns if pattern not in inside and not _disjoint(inside, pattern)
            ]
            taken = [name for name in named if state and all(matches(pattern, name) for pattern in inside)]
            if len(inside) == 1 and not outside and not taken:
                found[whole_match(next(iter(inside)))] = state
                continue
            nodes = [whole_node(pattern) for pattern in outside]
            automaton = Automaton(
                [whole_node(pattern) for pattern in inside] or [ANYTHING],
                [*nodes, *([_names(taken)] if taken else [])],
            )
            if not automaton.empty:
                found[f"^(?:{write(automaton.expression())})$"] = state
        return found


def _but(named: Mapping[str, State], state: State) -> str:
    """The pattern of names that are not `named`, where what applies to others need not apply to those."""
    return other_than(named) if state and named else ANYTHING_GOES


def _names(names: Iterable[str]) -> Node:
    return Choice(tuple(sequence(Chars(((ord(char), ord(char)),)) for char in name) for name in names))


@lru_cache(maxsize=1024)
def _together(patterns: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """The sets of patterns that may match one name."""
    single = [frozenset({pattern}) for pattern in patterns]
    overlapping = {
        pattern
        for first, second in combinations(patterns, 2)
        if not _disjoint(frozenset({first}), second)
        for pattern in (first, second)
    }
    if len(overlapping) > _MOST_OVERLAPPING:
        raise PatternError("too many of its patterns overlap")
    more = [
        frozenset(some)
        for count in range(2, len(overlapping) + 1)
        for some in combinations(sorted(overlapping), count)
    ]
    return (frozenset(), *single, *more)


@lru_cache(maxsize=4096)
def _disjoint(inside: frozenset[str], pattern: str) -> bool:
    return bool(inside) and Automaton([*map(whole_node, sorted(inside)), whole_node(pattern)]).empty
