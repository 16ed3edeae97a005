"""What applies to one value: the alternatives that references, `anyOf`, `not` and the like leave.

A state is a tuple of subschemas that all apply to one value. Its variants are the ways to satisfy them: each
a tuple of subschemas whose own assertions all apply, with nothing left to choose. It is the construction that
makes an automaton deterministic, so that recursion and the merging of schemas need no care of their own.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from velospec.constraints.json_schema.documents import Document, Keywords, Place
from velospec.constraints.json_schema.negation import NEVER, negation
from velospec.constraints.json_schema.refusals import Refusal, Refusals
from velospec.constraints.json_schema.values import Values, types_of

State = tuple[Place, ...]
Group = list[State]
"""Alternatives, one of which has to apply."""

TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_MOST_VARIANTS = 256
_MOST_WORK = 200_000  # subschemas met
_MOST_OPEN = 40  # states being worked out at once
_DEEPEST_LOOK = 3  # levels of required members, to tell that nothing satisfies a state


class Rules:
    """The rules of one document."""

    def __init__(self, document: Document, refusals: Refusals) -> None:
        self._document = document
        self._refusals = refusals
        self._variants: dict[State, tuple[State, ...]] = {}
        self._grouped: dict[Place, list[Group] | None] = {}  # None while they are being worked out
        self._empty: dict[tuple[State, int], bool] = {}
        self._open = 0
        self._work = 0

    def words(self, variant: State) -> list[Keywords]:
        """The keywords of each subschema."""
        return [self._document.keywords(place) for place in variant]

    def variants(self, state: State) -> tuple[State, ...]:
        """All ways to satisfy `state`; none where nothing does."""
        found = self._variants.get(state)
        if found is None:
            if self._open > _MOST_OPEN:
                raise Refusal(state[0].pointer, "it refers to itself in a way that has no end")
            self._open += 1
            try:
                found = self._variants[state] = tuple(dict.fromkeys(self._expand(state)))
            finally:
                self._open -= 1
        return found

    def types(self, variant: State) -> frozenset[str]:
        """The JSON types that are allowed; `integer` is there whenever `number` is."""
        types = TYPES
        for words in self.words(variant):
            if "type" in words:
                named = words["type"]
                types &= named | {"integer"} if "number" in named else named
        return types

    def empty(self, state: State, depth: int = _DEEPEST_LOOK) -> bool:
        """Whether it is plain that no value satisfies `state`."""
        found = self._empty.get((state, depth))
        if found is None:
            try:
                found = all(self._contradicts(variant, depth) for variant in self.variants(state))
            except Refusal:
                found = False
            self._empty[state, depth] = found
        return found

    def _expand(self, state: State) -> list[State]:
        complete: list[State] = []
        waiting: list[tuple[State, tuple[Group, ...], State]] = [((), (), state)]
        while waiting:
            flat, groups, more = waiting.pop()
            gathered, new = list(flat), list(groups)
            if not self._gather(more, gathered, new):
                continue
            if self._contradicts(tuple(gathered), 0):
                continue
            if new:
                waiting += [(tuple(gathered), tuple(new[1:]), option) for option in reversed(new[0])]
            else:
                complete.append(tuple(gathered))
            if len(complete) + len(waiting) > _MOST_VARIANTS:
                raise Refusal(state[0].pointer, "it combines too many alternatives")
        return complete

    def _gather(self, places: State, flat: list[Place], groups: list[Group]) -> bool:
        """Add `places` and what they refer to; False where that cannot be satisfied."""
        for place in places:
            if place.schema is False:
                return False
            if place.schema is True or place in flat:
                continue
            try:
                words = self._document.keywords(place)
            except Refusal as refusal:
                self._refusals.meet(refusal)
                continue
            self._work += 1
            if self._work > _MOST_WORK:
                raise Refusal(place.pointer, "its alternatives refer to each other in too many ways")
            flat.append(place)
            inner = (*([words["$ref"]] if "$ref" in words else []), *words.get("allOf", ()))
            if not self._gather(inner, flat, groups):
                return False
            groups += self._groups(place, words)
        return True

    def _groups(self, place: Place, words: Keywords) -> list[Group]:
        """The groups of one subschema, always the same ones, so that states can be recognised."""
        if place not in self._grouped:
            self._grouped[place] = None
            try:
                self._grouped[place] = self._groups_anew(place, words)
            finally:
                if self._grouped[place] is None:
                    del self._grouped[place]
        found = self._grouped[place]
        if found is None:
            raise Refusal(place.pointer, "whether its alternatives exclude each other depends on themselves")
        return found

    def _groups_anew(self, place: Place, words: Keywords) -> list[Group]:
        make = self._document.make
        groups: list[Group] = []
        if "anyOf" in words:
            groups.append([(option,) for option in words["anyOf"]])
        if "oneOf" in words:
            groups.append(self._one_of(place, words["oneOf"]))
        if "not" in words:
            groups += self._negated(place, "not", words["not"])
        if "if" in words and ("then" in words or "else" in words):
            chosen: Group = [(words["if"], words["then"]) if "then" in words else (words["if"],)]
            otherwise = self._negated(place, "if", words["if"])
            for negated in otherwise:
                rest = (words["else"],) if "else" in words else ()
                groups.append([*chosen, *((*state, *rest) for state in negated)])
        for name, needs in words.get("dependentRequired", {}).items():
            pointer = place.at("dependentRequired")
            present = make({"type": frozenset({"object"}), "required": [name, *needs]}, pointer)
            groups.append([(make({"properties": {name: NEVER}}, pointer),), (present,)])
        for name, schema in words.get("dependentSchemas", {}).items():
            pointer = place.at("dependentSchemas")
            present = make({"type": frozenset({"object"}), "required": [name]}, pointer)
            groups.append([(make({"properties": {name: NEVER}}, pointer),), (present, schema)])
        return groups

    def _negated(self, place: Place, keyword: str, inner: Place) -> list[Group]:
        """At most one group: what satisfies none of `inner`."""
        try:
            return [negation(self._document, inner)]
        except Refusal as refusal:
            self._refusals.meet(Refusal(place.at(keyword), f'"{keyword}" is not enforced here ({refusal})'))
            return []

    def _one_of(self, place: Place, options: list[Place]) -> Group:
        """Exactly one: each option, without those of the others that it does not exclude by itself."""
        overlaps: dict[int, list[int]] = {}
        for first, second in product(range(len(options)), repeat=2):
            if first < second and not self.empty((options[first], options[second])):
                overlaps.setdefault(first, []).append(second)
                overlaps.setdefault(second, []).append(first)
        try:
            return [
                (option, *self._without(place, [options[other] for other in overlaps.get(number, ())]))
                for number, option in enumerate(options)
            ]
        except Refusal as refusal:
            first, seconds = next(iter(overlaps.items()))
            both = f"alternatives {first} and {seconds[0]} may both hold"
            why = f'"oneOf" is not enforced: its {both} ({refusal})'
            self._refusals.meet(Refusal(place.at("oneOf"), why))
            return [(option,) for option in options]

    def _without(self, place: Place, others: list[Place]) -> State:
        for other in others:
            negation(self._document, other)
        return tuple(self._document.make({"not": other}, place.at("oneOf")) for other in others)

    def _contradicts(self, variant: State, depth: int) -> bool:
        """Whether it is plain that nothing satisfies `variant`."""
        types = self.types(variant)
        words = self.words(variant)
        enums = [values for each in words for values in each.get("enums", ())]
        if enums and not any(self._possible(value, types, enums[1:], words) for value in enums[0]):
            return True
        if types != {"object"}:
            return not types
        return any(
            any(place.schema is False for place in members)
            or (depth > 0 and members and self.empty(members, depth - 1))
            for name in dict.fromkeys(name for each in words for name in each.get("required", ()))
            for members in [
                tuple(each["properties"][name] for each in words if name in each.get("properties", {}))
            ]
        )

    @staticmethod
    def _possible(value: Any, types: frozenset[str], others: list[Values], words: list[Keywords]) -> bool:
        return (
            bool(types_of(value) & types)
            and all(value in values for values in others)
            and not any(value in each["excluded"] for each in words if "excluded" in each)
        )
