"""JSON Schemas in EBNF, as xgrammar reads it: the normal form of `schema`, rule by rule.

xgrammar's own converter is not used: it drops what it cannot express (lengths beside patterns, factors of
decimal numbers), and writes patterns into JSON as they are, quotes and control characters unescaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from velospec.constraints.automata import TooLargeError
from velospec.constraints.ebnf import literal
from velospec.constraints.json_schema.patterns import ANYTHING_GOES, other_than
from velospec.constraints.number_ebnf import NUMBER, WHOLE, number_rules
from velospec.constraints.string_ebnf import STRING_RULES, quoted, string_rules
from velospec.core.errors import GrammarError
from velospec.core.grammar import LONGEST_WHITESPACE, Whitespace

Form = dict[str, Any] | bool

SHARED = frozenset({"any", "escape", "number", "string", "string-rest", "whole", "ws"})
"""Rules that are the same for every schema, given the whitespace."""

_EMPTY = '""'
_MOST_OPTIONS = 128  # members in one rule; masks are quick where one rule has them all, which takes space


def schema_ebnf(schema: dict[str, Any], whitespace: Whitespace) -> str:
    """The grammar of the JSON text of what `schema`, a normal form, describes. Raises GrammarError."""
    rules = _Writer(schema, whitespace).write()
    return "\n".join(rules).replace('" "', "")  # neighbouring texts become one


class _Writer:
    """Writes one grammar. Members and items bring the whitespace before them, brackets the last."""

    def __init__(self, schema: dict[str, Any], whitespace: Whitespace) -> None:
        self._schema = schema
        self._names: dict[str, str] = {}  # of the rules of forms, by the forms as text
        self._waiting: list[tuple[str, Form]] = []  # rules to write
        space = " " if whitespace is Whitespace.SPACED else ""
        self._ws, self._comma, self._colon = _EMPTY, literal("," + space), literal(":" + space)
        self._rules = [*STRING_RULES, f"number ::= {NUMBER}", f"whole ::= {WHOLE}"]
        if whitespace is Whitespace.FLEXIBLE:
            self._ws, self._comma, self._colon = "ws", 'ws ","', 'ws ":" ws'
            self._rules.append(rf"ws ::= [ \t\n\r]{{0,{LONGEST_WHITESPACE}}}")

    def write(self) -> list[str]:
        """The rules."""
        member = f"{self._ws} string {self._colon} any"
        members, items = (_listed(one, self._comma, 0, None) for one in (member, f"{self._ws} any"))
        nested = f'"{{" ({members})? {self._ws} "}}" | "[" ({items})? {self._ws} "]"'
        self._rules.append(f'any ::= {nested} | string | number | "true" | "false" | "null"')
        self._rules.append(f"root ::= {self._value(self._schema)}")
        while self._waiting:
            name, form = self._waiting.pop()
            self._rules.append(f"{name} ::= {self._body(form, name)}")
        return self._rules

    def _value(self, form: Form) -> str:
        """The name of the rule for `form`."""
        if isinstance(form, dict) and "$ref" in form:
            reference = form["$ref"].removeprefix("#/$defs/")
            form = self._schema if reference == "#" else self._schema["$defs"][reference]
        if form is True or form == {}:
            return "any"
        key = json.dumps(form)
        if key not in self._names:
            self._names[key] = f"v{len(self._names)}"
            self._waiting.append((self._names[key], form))
        return self._names[key]

    def _body(self, form: Form, name: str) -> str:
        if isinstance(form, bool):
            return _nothing()
        if "anyOf" in form:
            return " | ".join(map(self._value, form["anyOf"]))
        if "enum" in form:
            return " | ".join(map(self._literal, form["enum"]))
        match form.get("type"):
            case "null":
                return '"null"'
            case "boolean":
                return '"true" | "false"'
            case "array":
                body = self._array(form)
            case "object":
                body = self._object(form, name)
            case "string":
                body = self._own(string_rules, form, name)
            case _:
                body = self._own(number_rules, form, name)
        return body or _nothing()

    def _own(
        self, make: Callable[[dict[str, Any], str], tuple[str, list[str]]], form: dict[str, Any], name: str
    ) -> str:
        """The body that `make` makes, with the rules written that it needs."""
        try:
            body, rules = make(form, name)
        except TooLargeError as error:
            raise GrammarError(
                f"The JSON Schema is too much for xgrammar: {error}.",
                "Simplify its patterns and bounds, or use the engine llguidance.",
            ) from error
        self._rules += rules
        return body

    def _literal(self, value: Any) -> str:
        """`value` as it stands, with whitespace as everywhere."""
        if isinstance(value, dict | list):
            first, last = json.dumps(value)[0], json.dumps(value)[-1]
            if isinstance(value, dict):
                inside = [f"{quoted(key)} {self._colon} {self._literal(each)}" for key, each in value.items()]
            else:
                inside = [self._literal(each) for each in value]
            listed = f" {self._comma} ".join(f"{self._ws} {each}" for each in inside)
            return f"{literal(first)} {listed} {self._ws} {literal(last)}"
        return quoted(value) if isinstance(value, str) else literal(json.dumps(value))

    def _array(self, form: dict[str, Any]) -> str:
        least, most = form.get("minItems", 0), form.get("maxItems")
        before = form.get("prefixItems", [])[:most]
        items = form.get("items", True)
        item = "" if items is False else f"{self._ws} {self._value(items)}"
        if before:
            left = None if most is None else most - len(before)
            body = _counted(f"({self._comma} {item})", least - len(before), left) if item else ""
        else:
            body = _optional(_listed(item, self._comma, least, most), needed=least > 0) if item else ""
        for number in range(len(before) - 1, -1, -1):
            comma = self._comma if number else ""
            one = f"{comma} {self._ws} {self._value(before[number])} {body}"
            body = _optional(one, needed=number < least)
        return f'"[" {body} {self._ws} "]"'

    def _object(self, form: dict[str, Any], name: str) -> str:
        """Named members in their order, then all others.

        For each place in that order, one rule has the members that may come next, and one what comes behind
        the member before it.
        """
        named = [(key, inner) for key, inner in form.get("properties", {}).items() if inner is not False]
        required = frozenset(form.get("required", ()))
        least = max(form.get("minProperties", 0) - len(required), 0)
        most = None if "maxProperties" not in form else form["maxProperties"] - len(required)
        others = _listed(self._other(form, name), self._comma, least, most)
        members = [
            f"{self._ws} {quoted(key)} {self._colon} {self._value(inner)} {name}-then{number}"
            for number, (key, inner) in enumerate(named, 1)
        ]
        last = needed = len(named)  # `needed` is the next place that must not be left out
        following = others
        for place in range(last, -1, -1):
            if place < last:
                needed = place if named[place][0] in required else needed
                options = [*members[place : needed + 1], *([others] if others and needed == last else [])]
                if len(options) > _MOST_OPTIONS:
                    options = [members[place], f"{name}-next{place + 1}"]
                following = f"{name}-next{place}"
                self._rules.append(f"{following} ::= {' | '.join(options)}")
            must = needed < last or least > 0
            then = _optional(f"{self._comma} {following}", needed=must) if following else _EMPTY
            self._rules.append(f"{name}-then{place} ::= {then}")
        first = _optional(following, needed=needed < last or least > 0) if following else ""
        return f'"{{" {first} {self._ws} "}}"'

    def _other(self, form: dict[str, Any], name: str) -> str:
        """The rule of a member that is not named; empty where there is none."""
        names, patterns = form.get("properties", {}), form.get("patternProperties", {})
        if form.get("additionalProperties", True) is not False:
            patterns = {**patterns, ANYTHING_GOES: form.get("additionalProperties", True)}
        options = []
        for number, (pattern, inner) in enumerate(patterns.items()):
            taken = [key for key in names if re.fullmatch(pattern, key)]
            key: dict[str, Any] = {"pattern": pattern, "not": taken}
            if pattern == ANYTHING_GOES:
                key = {"pattern": other_than(taken)} if taken else {}
            body = self._own(string_rules, key, f"{name}-key{number}")
            if body:
                self._rules.append(f"{name}-key{number} ::= {body}")
                options.append(f"{self._ws} {name}-key{number} {self._colon} {self._value(inner)}")
        if not options:
            return ""
        self._rules.append(f"{name}-other ::= {' | '.join(options)}")
        return f"{name}-other"


def _nothing() -> NoReturn:
    raise GrammarError(
        "No value satisfies a part of the JSON Schema.", "Look for parts of it that exclude each other."
    )


def _optional(symbol: str, *, needed: bool) -> str:
    return symbol if needed or not symbol else f"({symbol})?"


def _listed(symbol: str, comma: str, least: int, most: int | None) -> str:
    """`symbol` between `least` and `most` times, and at least once, with commas; empty where `most` is 0."""
    if most == 0 or not symbol:
        return ""
    return f"{symbol} {_counted(f'({comma} {symbol})', least - 1, most and most - 1)}"


def _counted(symbol: str, least: int, most: int | None) -> str:
    """`symbol` between `least` and `most` times."""
    least = max(least, 0)
    if most is None:
        return f"{symbol}{{{least},}}" if least else f"{symbol}*"
    return f"{symbol}{{{least},{most}}}" if most > 0 else ""
