"""JSON Schemas in EBNF, as xgrammar reads it: the normal form of `schema`, rule by rule.

xgrammar's own converter is not used: it drops what it cannot express (lengths beside patterns, factors of
decimal numbers), and writes patterns into JSON as they are, quotes and control characters unescaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

from velospec.constraints.automata import TooLargeError
from velospec.constraints.ebnf import literal
from velospec.constraints.number_ebnf import NUMBER, WHOLE, number_rules
from velospec.constraints.string_ebnf import STRING_RULES, quoted, string_rules
from velospec.core.errors import GrammarError
from velospec.core.grammar import LONGEST_WHITESPACE, Whitespace

Form = dict[str, Any] | bool
_ANY_RULES = """\
any ::= "{" members? ws "}" | "[" items? ws "]" | string | number | "true" | "false" | "null"
members ::= member (comma member)*
member ::= ws string colon any
items ::= ws any (comma ws any)*
"""


def schema_ebnf(schema: dict[str, Any], whitespace: Whitespace) -> str:
    """The grammar of the JSON text of what `schema`, a normal form, describes. Raises GrammarError."""
    return _Writer(schema, whitespace).write()


class _Writer:
    """Writes one grammar. Members and items bring the whitespace before them, brackets the last."""

    def __init__(self, schema: dict[str, Any], whitespace: Whitespace) -> None:
        self._schema = schema
        self._names: dict[str, str] = {}  # of the rules of forms, by the forms as text
        self._waiting: list[tuple[str, Form]] = []  # rules to write
        self._rules = [_ANY_RULES, *STRING_RULES, f"number ::= {NUMBER}", f"whole ::= {WHOLE}"]
        space = " " if whitespace is Whitespace.SPACED else ""
        if whitespace is Whitespace.FLEXIBLE:
            run = rf"[ \t\n\r]{{0,{LONGEST_WHITESPACE}}}"
            self._rules += [f"ws ::= {run}", 'comma ::= ws ","', 'colon ::= ws ":" ws']
        else:
            self._rules += [
                'ws ::= ""',
                f"comma ::= {literal(',' + space)}",
                f"colon ::= {literal(':' + space)}",
            ]

    def write(self) -> str:
        self._rules.append(f"root ::= {self._value(self._schema)}")
        while self._waiting:
            name, form = self._waiting.pop()
            self._rules.append(f"{name} ::= {self._body(form, name)}")
        return "\n".join(self._rules)

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
        if isinstance(value, dict) and value:
            pairs = [f"ws {quoted(key)} colon {self._literal(inner)}" for key, inner in value.items()]
            return f'"{{" {" comma ".join(pairs)} ws "}}"'
        if isinstance(value, list) and value:
            return f'"[" {" comma ".join(f"ws {self._literal(inner)}" for inner in value)} ws "]"'
        if isinstance(value, dict | list):
            return f"{literal(json.dumps(value)[0])} ws {literal(json.dumps(value)[1])}"
        return quoted(value) if isinstance(value, str) else literal(json.dumps(value))

    def _array(self, form: dict[str, Any]) -> str:
        items = form.get("items", True)
        least, most = form.get("minItems", 0), form.get("maxItems")
        before = form.get("prefixItems", [])[:most]
        rest = (
            ""
            if items is False
            else f"(comma ws {self._value(items)})"
            if items is not True
            else "(comma ws any)"
        )
        if not before:
            first = rest.replace("comma ", "", 1)[1:-1]
            body = "" if not rest or most == 0 else f"{first} {_counted(rest, least - 1, most and most - 1)}"
            parts = f"({body})?" if body and not least else body
            return f'"[" {parts} ws "]"'
        body = (
            _counted(rest, least - len(before), None if most is None else most - len(before)) if rest else ""
        )
        for number in range(len(before) - 1, -1, -1):
            one = f"{'comma ' if number else ''}ws {self._value(before[number])} {body}"
            body = one if number < least else f"({one})?"
        return f'"[" {body} ws "]"'

    def _object(self, form: dict[str, Any], name: str) -> str:
        """Named members in their order, then all others.

        Two rules for each place in that order: with members before it, and without.
        """
        named = {key: inner for key, inner in form.get("properties", {}).items() if inner is not False}
        required = form.get("required", ())
        count = len(required)
        least = max(form.get("minProperties", 0) - count, 0)
        most = None if form.get("maxProperties") is None else form["maxProperties"] - count
        others = self._others(form, name)
        rest = f"(comma {others})" if others and most != 0 else ""
        later = _counted(rest, least, most) if rest else '""'
        first = f"{others} {_counted(rest, least - 1, most and most - 1)}" if rest else '""'
        if rest and not least:
            first = f"({first})?"
        places = len(named)
        rules = [f"{name}-{places}a ::= {first}", f"{name}-{places}b ::= {later}"]
        for number, (key, inner) in enumerate(named.items()):
            member = f"ws {quoted(key)} colon {self._value(inner)} {name}-{number + 1}b"
            for letter, comma in (("a", ""), ("b", "comma ")):
                skip = "" if key in required else f" | {name}-{number + 1}{letter}"
                rules.append(f"{name}-{number}{letter} ::= {comma}{member}{skip}")
        self._rules += rules
        return f'"{{" {name}-0a ws "}}"'

    def _others(self, form: dict[str, Any], name: str) -> str:
        """The rule of a member that is not named; empty where there is none."""
        patterns = form.get("patternProperties", {})
        if form.get("additionalProperties", True) is not False:
            patterns = {**patterns, "": form.get("additionalProperties", True)}
        options = []
        for number, (pattern, inner) in enumerate(patterns.items()):
            key = {**({"pattern": pattern} if pattern else {}), "not": list(form.get("properties", {}))}
            body = self._own(string_rules, key, f"{name}-k{number}")
            if body:
                self._rules.append(f"{name}-k{number} ::= {body}")
                options.append(f"ws {name}-k{number} colon {self._value(inner)}")
        if not options:
            return ""
        self._rules.append(f"{name}-o ::= {' | '.join(options)}")
        return f"{name}-o"


def _nothing() -> NoReturn:
    raise GrammarError(
        "No value satisfies a part of the JSON Schema.", "Look for parts of it that exclude each other."
    )


def _counted(symbol: str, least: int, most: int | None) -> str:
    """`symbol` between `least` and `most` times."""
    least = max(least, 0)
    if most is None:
        return f"{symbol}{{{least},}}" if least else f"{symbol}*"
    return f"{symbol}{{{least},{most}}}" if most > 0 else ""
