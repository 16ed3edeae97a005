"""The normal form of objects: members in the order in which the schema names them, then all others.

What is written: `properties` (with `false` for a name that is taken but not allowed), `required`,
`patternProperties` with disjoint patterns, `additionalProperties` false, and bounds of the count of members
only where all that is named is required.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from velospec.constraints.json_schema.documents import Document, Keywords, Place
from velospec.constraints.json_schema.names import NameClasses, State, limits_of, matches, tidy
from velospec.constraints.json_schema.negation import NEVER
from velospec.constraints.json_schema.pattern_nodes import PatternError
from velospec.constraints.json_schema.patterns import other_than
from velospec.constraints.json_schema.refusals import Refusal, Refusals
from velospec.constraints.json_schema.scalars import MOST_COUNTED

Form = dict[str, Any] | bool


@dataclass(frozen=True, slots=True)
class _Members:
    """The members that an object may have."""

    named: dict[str, State]
    required: frozenset[str]
    others: dict[str, State]  # by the pattern of their names; patterns exclude each other
    least: int = 0
    most: int | None = None

    @property
    def optional(self) -> list[str]:
        return [
            name for name, state in self.named.items() if name not in self.required and NEVER not in state
        ]


class Objects:
    """Writes the objects of one document; `refer` gives the form of a state."""

    def __init__(
        self,
        document: Document,
        refusals: Refusals,
        refer: Callable[[State], Form],
        judge: Callable[[str, Place], bool],
    ) -> None:
        """`judge` says whether a name satisfies a schema."""
        self._document = document
        self._refusals = refusals
        self._classes = NameClasses(document, refusals)
        self._refer = refer
        self._judge = judge

    def forms(self, variant: State) -> list[Form]:
        """The alternatives of an object that satisfies `variant`."""
        words = [self._document.keywords(place) for place in variant]
        names = dict.fromkeys(name for each in words for name in each.get("properties", ()))
        required = dict.fromkeys(name for each in words for name in each.get("required", ()))
        for each in words:
            if "propertyNames" in each and (limits := limits_of(self._document, each["propertyNames"])):
                names |= dict.fromkeys(limits.get("enum", ()))
        named = {name: self._member(name, variant, words) for name in (*names, *required)}
        if any(NEVER in named[name] for name in required):
            return []
        most = min((int(each["maxProperties"]) for each in words if "maxProperties" in each), default=None)
        members = _Members(
            named=named,
            required=frozenset(required),
            others=self._classes.classes(variant, named),
            least=max((int(each["minProperties"]) for each in words if "minProperties" in each), default=0),
            most=most if most is not None and most <= MOST_COUNTED else None,
        )
        return [self._form(choice) for choice in self._counted(members, variant, words)]

    def _member(self, name: str, variant: State, words: list[Keywords]) -> State:
        """What applies to the member `name`."""
        state: list[Place] = []
        for place, each in zip(variant, words, strict=True):
            found = [each["properties"][name]] if name in each.get("properties", {}) else []
            for pattern, inner in each.get("patternProperties", {}).items():
                try:
                    found += [inner] if matches(pattern, name) else []
                except PatternError as error:
                    why = f'"patternProperties" is not enforced: {error}'
                    self._refusals.meet(Refusal(place.at("patternProperties"), why))
            if not found and "additionalProperties" in each:
                found = [each["additionalProperties"]]
            if "propertyNames" in each and not self._judge(name, each["propertyNames"]):
                found = [NEVER]
            state += found
        return tidy(state)

    def _counted(self, members: _Members, variant: State, words: list[Keywords]) -> list[_Members]:
        """The alternatives by which bounds of the count of members hold."""
        optional = members.optional
        least = max(members.least - len(members.required), 0)
        most = None if members.most is None else members.most - len(members.required)
        if most is not None and not members.others and most >= len(optional):
            most = None
        if not least and most is None:
            return [replace(members, least=0, most=None)]
        if most is not None and most < max(least, 1):
            return [] if least or most else [_limited(members, set(), 0, 0)]
        by_name = any(each.get("patternProperties") or "propertyNames" in each for each in words)
        if members.others and by_name and (optional or len(members.others) > 1):
            return self._uncounted(members, variant, words, least)
        alone = [_limited(members, set(), least, most)] if members.others else []
        if least <= 1 and most is None:
            ways = [*_first_of(members, optional), *alone]
        elif least <= 1 and (most == 1 or not optional):
            ways = [_with(_limited(members, {name}, 0, 0), name) for name in optional]
            ways += alone if least or alone else [_limited(members, set(), 0, 0)]
        elif not members.others and least >= len(optional):
            ways = [_with(members, *optional)] if least == len(optional) else []
        else:
            ways = self._uncounted(members, variant, words, least)
        return ways

    def _uncounted(
        self, members: _Members, variant: State, words: list[Keywords], least: int
    ) -> list[_Members]:
        limited = least <= 1 and any("maxProperties" in each for each in words)
        keyword = "maxProperties" if limited else "minProperties"
        place = next(place for place, each in zip(variant, words, strict=True) if keyword in each)
        self._refusals.meet(
            Refusal(place.at(keyword), f'"{keyword}" is not enforced beside optional members')
        )
        return [replace(members, least=0, most=None)]

    def _form(self, members: _Members) -> Form:
        form: dict[str, Any] = {"type": "object"}
        properties: dict[str, Form] = {
            name: False if NEVER in state else self._refer(state) for name, state in members.named.items()
            if members.others or NEVER not in state
        }  # fmt: skip
        if properties:
            form["properties"] = properties
        if members.required:
            form["required"] = [name for name in members.named if name in members.required]
        if members.others:
            form["patternProperties"] = {
                pattern: self._refer(state) for pattern, state in members.others.items()
            }
        form["additionalProperties"] = False
        if members.least:
            form["minProperties"] = members.least
        if members.most is not None:
            form["maxProperties"] = members.most
        return form


def _with(members: _Members, *names: str) -> _Members:
    """`members`, with `names` required and without a bound of their count."""
    return replace(members, required=members.required.union(names), least=0, most=None)


def _first_of(members: _Members, optional: list[str]) -> list[_Members]:
    """One alternative for each optional member that may be the first of them."""
    return [
        _with(_limited(members, set(optional[number:]), 0, None), name)
        for number, name in enumerate(optional)
    ]


def _limited(members: _Members, kept: set[str], least: int, most: int | None) -> _Members:
    """`members` without the optional ones but `kept`; beside the named ones, `least` to `most` others."""
    gone = [name for name in members.optional if name not in kept]
    named = {name: (NEVER,) if name in gone else state for name, state in members.named.items()}
    count = len(members.required)
    others = {} if most == 0 else members.others
    if others and (least or most is not None):
        # A count is enforced only where all named members are required; a pattern keeps the others out.
        never = [name for name, state in named.items() if NEVER in state]
        if never:
            named = {name: state for name, state in named.items() if NEVER not in state}
            others = {other_than(members.named): next(iter(others.values()))}
        return replace(
            members, named=named, others=others, least=count + least if least else 0,
            most=None if most is None else count + most,
        )  # fmt: skip
    return replace(members, named=named, others=others, least=0, most=None)
