"""Writes a schema's rules down anew, in the few keywords that grammar engines enforce exactly.

The form of a value is `true`, `false`, a `$ref` to `$defs`, an `anyOf`, an `enum`, or one type with the
keywords of `scalars`, `objects` and, for arrays, `prefixItems`, `items`, `minItems` and `maxItems`.
"""

from __future__ import annotations

import json
from typing import Any

from velospec.constraints.json_schema.documents import Document, Keywords, Place
from velospec.constraints.json_schema.names import matches
from velospec.constraints.json_schema.objects import Form, Objects
from velospec.constraints.json_schema.refusals import Refusal, Refusals
from velospec.constraints.json_schema.rules import Rules, State
from velospec.constraints.json_schema.scalars import EXACT, number, string
from velospec.constraints.json_schema.values import same, types_of
from velospec.constraints.validation import Judge

_MOST_FORMS = 20_000  # of values, in one schema
_MOST_ITEMS = 10_000
_TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")
_SAY_LITTLE = frozenset({"enums", "type", "unenforced", "excluded"})
_KINDS = {  # what keywords that are not enforced are about
    "contains": "array",
    "uniqueItems": "array",
    "unevaluatedItems": "array",
    "unevaluatedProperties": "object",
}


class NormalForm:
    """The normal form of one document."""

    def __init__(self, document: Document, rules: Rules, judge: Judge, refusals: Refusals) -> None:
        self._document = document
        self._rules = rules
        self._judge = judge
        self._refusals = refusals
        self._objects = Objects(document, refusals, self._refer, self._holds)
        self._names: dict[State, str] = {}
        self._waiting: list[State] = []

    def write(self) -> tuple[str, dict[str, Form]]:
        """The name of the root's form, and all forms by name."""
        forms: dict[str, Form] = {}
        self._refer((self._document.root,))
        while self._waiting:
            state = self._waiting.pop()
            forms[self._names[state]] = self._form(state)
            if len(self._names) > _MOST_FORMS:
                raise Refusal("#", f"it describes more than {_MOST_FORMS} kinds of values")
        return "0", forms

    def _refer(self, state: State) -> Form:
        if not state:
            return True
        if state not in self._names:
            self._names[state] = str(len(self._names))
            self._waiting.append(state)
        return {"$ref": f"#/$defs/{self._names[state]}"}

    def _form(self, state: State) -> Form:
        options: dict[str, Form] = {}
        for variant in self._rules.variants(state):
            for form in self._alternatives(variant):
                options[json.dumps(form)] = form
        forms = [form for form in options.values() if form is not False]
        if len(forms) <= 1:
            return forms[0] if forms else False
        return True if True in forms else {"anyOf": forms}

    def _alternatives(self, variant: State) -> list[Form]:
        words = self._rules.words(variant)
        if any(each.get("enums") for each in words):
            values = self._values(variant)
            return [{"enum": values}] if values else []
        said = {key for each in words for key, value in each.items() if value}
        if not said - {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}:
            return [True]
        types = self._rules.types(variant)
        forms: list[Form] = []
        for kind in _TYPES:
            if kind in types and not (kind == "integer" and "number" in types):
                self._check(variant, kind)
                forms += self._typed(variant, kind)
        return forms

    def _typed(self, variant: State, kind: str) -> list[Form]:
        match kind:
            case "null" | "boolean":
                values: list[Any] = [None] if kind == "null" else [False, True]
                excluded = [
                    value for each in self._rules.words(variant) for value in each.get("excluded", ())
                ]
                left = [value for value in values if not any(same(value, other) for other in excluded)]
                return [{"type": kind}] if left == values else [{"enum": left}] if left else []
            case "number" | "integer":
                return [number(variant, kind, self._document, self._refusals)]
            case "string":
                return [string(variant, self._document, self._refusals)]
            case "array":
                return [self._array(variant)]
        return self._objects.forms(variant)

    def _check(self, variant: State, kind: str) -> None:
        """Meet what is not enforced for values of type `kind`."""
        for place in variant:
            words = self._document.keywords(place)
            for keyword in words.get("unenforced", ()):
                if _KINDS.get(keyword, kind) != kind or (
                    keyword == "uniqueItems" and words.get("maxItems", 2) < 2
                ):
                    continue
                self._refusals.meet(Refusal(place.at(keyword), f'"{keyword}" is not enforced'))
            if kind in {"array", "object"} and any(
                kind in types_of(value) for value in words.get("excluded", ())
            ):
                self._refusals.meet(Refusal(place.pointer, f"single {kind}s cannot be left out"))

    def _array(self, variant: State) -> Form:
        words = self._rules.words(variant)
        length = max((len(each.get("prefixItems", ())) for each in words), default=0)
        least = max((int(each["minItems"]) for each in words if "minItems" in each), default=0)
        most = min((int(each["maxItems"]) for each in words if "maxItems" in each), default=None)
        if most is not None and least > most:
            return False
        if max(least, most or 0) > _MOST_ITEMS:
            place = next(
                place for place in variant if {"minItems", "maxItems"} & self._document.keywords(place).keys()
            )
            self._refusals.meet(Refusal(place.pointer, f"more than {_MOST_ITEMS} items are not counted"))
            least, most = 0, None
        form: dict[str, Any] = {"type": "array"}
        if length and most != 0:
            form["prefixItems"] = [
                self._item(number, variant) for number in range(min(length, most or length))
            ]
        items = self._item(length, variant)
        if items is not True:
            form["items"] = items
        if least:
            form["minItems"] = least
        if most is not None:
            form["maxItems"] = most
        return form

    def _item(self, number: int, variant: State) -> Form:
        state: list[Place] = []
        for words in self._rules.words(variant):
            before = words.get("prefixItems", ())
            if number < len(before):
                state.append(before[number])
            elif "items" in words:
                state.append(words["items"])
        if any(place.schema is False for place in state):
            return False
        return self._refer(tuple(dict.fromkeys(place for place in state if place.schema is not True)))

    def _values(self, variant: State) -> list[Any]:
        """The values of an enumeration that satisfy everything else."""
        types = self._rules.types(variant)
        found: dict[str, Any] = {}
        first = next(values for each in self._rules.words(variant) for values in each.get("enums", ()))
        for value in first:
            if types_of(value) & types and all(self._satisfies(value, place) for place in variant):
                plain = _plain(value)
                if _inexact(plain):
                    pointer = next(
                        place for place in variant if self._document.keywords(place).get("enums")
                    ).pointer
                    self._refusals.meet(
                        Refusal(pointer, f"{value} is a number that the engines do not keep exactly")
                    )
                found[json.dumps(plain)] = plain
        return list(found.values())

    def _satisfies(self, value: Any, place: Place) -> bool:
        words = self._document.keywords(place)
        if value in words.get("excluded", ()):
            return False
        if words.keys() <= _SAY_LITTLE and not words.get("unenforced"):
            return all(value in values for values in words.get("enums", ()))
        return self._holds(value, place)

    def _holds(self, value: Any, place: Place) -> bool:
        """Whether `value` satisfies the whole schema at `place`."""
        if not isinstance(place.schema, bool) and not self._document.is_read(place):
            return self._holds_made(value, self._document.keywords(place))
        try:
            return self._judge.holds(value, place.schema)
        except Exception as error:
            raise Refusal(place.pointer, f"values cannot be checked by it ({error})") from error

    def _holds_made(self, value: Any, words: Keywords) -> bool:
        """Whether `value` satisfies a schema that we made."""
        if (
            ("type" in words and not types_of(value) & words["type"])
            or value in words.get("excluded", ())
            or ("not" in words and self._holds(value, words["not"]))
            or ("unlike" in words and isinstance(value, str) and matches(words["unlike"], value))
        ):
            return False
        if not isinstance(value, dict):
            return True
        return all(name in value for name in words.get("required", ())) and all(
            self._holds(value[name], inner)
            for name, inner in words.get("properties", {}).items()
            if name in value
        )


def _plain(value: Any) -> Any:
    """`value` with whole numbers written as such."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return int(value)
    return value


def _inexact(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(_inexact(inner) for inner in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and abs(value) > EXACT
