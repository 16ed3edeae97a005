"""A schema in normal form: random instances of it, and the canonical text of values.

The instances have members that the schema does not name, and go through recursion, which those of
hypothesis-jsonschema do not.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.support.schema_instances import JUNK, Json, comparable, for_python
from velospec.constraints.json_schema.pattern_nodes import Chars, Choice, Node, Repeat, Sequence
from velospec.constraints.json_schema.pattern_parser import parse
from velospec.constraints.validation import Judge

_MOST_TRIES = 20


class NormalForm:
    """A schema in normal form: makes instances of it and writes values in its canonical form."""

    def __init__(self, schema: dict[str, Any], chance: random.Random) -> None:
        self._schema = schema
        self._chance = chance
        self._judge = Judge(comparable(schema))
        self._parts: dict[int, Any] = {}  # as the judge reads them, by their identity

    def valid(self, value: Json) -> bool:
        return not self._judge.errors(value)

    def text(self, value: Json) -> str | None:
        """The canonical text of `value`; None where it has none."""
        try:
            return self._write(value, self._schema)
        except ValueError:
            return None

    def _resolved(self, form: Any) -> Any:
        while isinstance(form, dict) and "$ref" in form:
            form = self._schema["$defs"][form["$ref"].removeprefix("#/$defs/")]
        return form

    def _option(self, value: Json, form: Any) -> Any:
        """The option of `form` that `value` is of."""
        form = self._resolved(form)
        while isinstance(form, dict) and "anyOf" in form:
            options = form["anyOf"]
            fitting = (option for option in options if self._is_of(value, option))
            form = self._resolved(next(fitting, options[0]))
        return form if isinstance(form, dict) else {}

    def _is_of(self, value: Json, form: Any) -> bool:
        if id(form) not in self._parts:
            self._parts[id(form)] = comparable(form)
        return self._judge.holds(value, self._parts[id(form)])

    def _write(self, value: Json, form: Any) -> str:
        form = self._option(value, form)
        match value:
            case dict():
                named = form.get("properties", {})
                order = {
                    name: number
                    for number, name in enumerate(dict.fromkeys((*named, *form.get("required", ()))))
                }
                keys = sorted(value, key=lambda key: order.get(key, len(order)))
                inner = {key: self._write(value[key], self._member(key, form)) for key in keys}
                return "{" + ", ".join(f"{_quoted(key)}: {text}" for key, text in inner.items()) + "}"
            case list():
                before = form.get("prefixItems", [])
                items = form.get("items", True)
                forms = [*before, *[items] * (len(value) - len(before))]
                return "[" + ", ".join(map(self._write, value, forms)) + "]"
            case str():
                return _quoted(value)
            case float():
                return _number(value, limited=bool(form.keys() - {"type", "$defs"}))
        return json.dumps(value)

    def _member(self, key: str, form: dict[str, Any]) -> Any:
        if key in form.get("properties", {}):
            return form["properties"][key]
        patterns = form.get("patternProperties", {})
        keyed = (inner for pattern, inner in patterns.items() if self._names(pattern, key))
        return next(keyed, True)

    def _names(self, pattern: str, key: str) -> bool:
        return self._judge.holds(key, {"pattern": for_python(pattern)})

    def instance(self) -> Json:
        """A random instance. Raises ValueError where none was found."""
        return self._make(self._schema, 0)

    def _make(self, form: Any, depth: int) -> Json:
        form = self._resolved(form)
        if form is False or depth > 12:
            raise ValueError
        if isinstance(form, bool) or not form:
            return self._chance.choice(JUNK)
        if "anyOf" in form:
            for option in self._chance.sample(form["anyOf"], len(form["anyOf"])):
                try:
                    return self._make(option, depth + 1)
                except ValueError:
                    continue
            raise ValueError
        if "enum" in form:
            return self._chance.choice(form["enum"])
        makers: dict[str, Callable[[], Json]] = {
            "null": lambda: None,
            "boolean": lambda: self._chance.random() < 0.5,
            "integer": lambda: self._make_integer(form),
            "number": lambda: self._make_number(form),
            "string": lambda: self._make_string(form),
            "array": lambda: self._make_array(form, depth + 1),
            "object": lambda: self._make_object(form, depth + 1),
        }
        return makers[form["type"]]()

    def _make_integer(self, form: dict[str, Any]) -> Json:
        low = form.get("minimum", form.get("maximum", 0) - 1000)
        value = self._chance.randint(low, form.get("maximum", low + 1000))
        return value - value % form["multipleOf"] if isinstance(form.get("multipleOf"), int) else value

    def _make_number(self, form: dict[str, Any]) -> Json:
        edges = [form[key] for key in form if key.startswith(("min", "max", "excl"))]
        low, high = min(edges, default=0), max(edges, default=1000)
        return round(self._chance.uniform(low, high if high > low else low + 10), 2)

    def _make_string(self, form: dict[str, Any]) -> Json:
        patterns = [inner["pattern"] for inner in form.get("allOf", ())] or [form.get("pattern", "")]
        for _ in range(_MOST_TRIES):
            text = self._spell(parse(patterns[0]), form.get("minLength", 0))
            if self._is_of(text, form):
                return text
        raise ValueError

    def _spell(self, node: Node, least: int) -> str:
        match node:
            case Chars(ranges):
                low, high = self._chance.choice(ranges)
                return chr(min(high, low + self._chance.choice([0, 1, 5, 33, 65, 97, 233, 0x1F600])))
            case Sequence(parts):
                return (
                    "".join(self._spell(part, least) for part in parts) if parts else "ab" * (least // 2 + 1)
                )
            case Choice(options):
                return self._spell(self._chance.choice(options), least)
            case Repeat(inner, low, high):
                most = low + max(3, least) if high is None else min(high, low + 5)
                return "".join(self._spell(inner, 0) for _ in range(self._chance.randint(low, most)))
        return ""

    def _make_array(self, form: dict[str, Any], depth: int) -> Json:
        before = form.get("prefixItems", [])
        least, most = form.get("minItems", 0), form.get("maxItems", 1000)
        length = max(least, min(most, self._chance.choice([0, 1, 2, 3]) if depth < 5 else 0))
        forms = [*before, *[form.get("items", True)] * max(0, length - len(before))][:length]
        return [self._make(inner, depth) for inner in forms]

    def _make_object(self, form: dict[str, Any], depth: int) -> Json:
        value = {}
        required = form.get("required", ())
        for name, inner in form.get("properties", {}).items():
            if inner is False or (
                name not in required and self._chance.random() > (0.5 if depth < 5 else 0.05)
            ):
                continue
            try:
                value[name] = self._make(inner, depth)
            except ValueError:
                if name in required:
                    raise
        least, most = form.get("minProperties", 0), form.get("maxProperties", 1000)
        for pattern, inner in form.get("patternProperties", {}).items():
            while len(value) < most and (len(value) < least or self._chance.random() < 0.3):
                name = self._spell(parse(pattern), 0)
                if name in form.get("properties", {}) or inner is False:
                    break
                value[name] = self._make(inner, depth)
        return value


def _quoted(text: str) -> str:
    text.encode()  # a lone surrogate has no bytes: UnicodeEncodeError is a ValueError
    return json.dumps(text, ensure_ascii=False).replace("\x7f", r"\u007f")


def _number(value: float, *, limited: bool) -> str:
    if not math.isfinite(value):
        raise ValueError
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if abs(value) >= 2**53 and limited:
        raise ValueError
    return format(Decimal(repr(value)), "f") if limited else repr(value)
