"""Strings of JSON in EBNF: by pattern, by length, and both at once.

A character that needs no escape has none. Control characters have the short escape or that of four digits.
"""

from __future__ import annotations

import json
from typing import Any

from velospec.constraints.automata import Automaton, Length, OtherThan, Pattern, TooLargeError, common_rules
from velospec.constraints.ebnf import char_class, expression, literal
from velospec.constraints.json_schema.pattern_nodes import (
    LAST,
    SURROGATES,
    Chars,
    Ranges,
    Repeat,
    complement,
)
from velospec.constraints.json_schema.patterns import whole_node

_PLAIN: Ranges = (
    (0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E), (0x80, SURROGATES[0] - 1), (SURROGATES[1] + 1, LAST),
)  # fmt: skip
"""Characters that stand for themselves. DEL does not, as llguidance has it."""

_CONTROLS = range(0x20)
_SHORT = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r"}
_NAMED = {0x22: r'"\\\""', 0x5C: r'"\\\\"', 0x7F: r'"\\u007" [Ff]'}
_ANY = [char_class(_PLAIN), r'"\\" escape']

STRING_RULES = (
    r'string ::= "\"" string-rest',
    " | ".join([r'string-rest ::= "\""', *(f"{symbol} string-rest" for symbol in _ANY)]),
    r'escape ::= ["\\bfnrt] | "u00" ([01] [0-9A-Fa-f] | "7" [Ff])',
)
"""Any string. One character leads to the next: in a repeated group, each token would be tried by itself."""


def quoted(text: str) -> str:
    """`text` as a string of JSON, a terminal."""
    return literal(json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f"))


def string_rules(form: dict[str, Any], name: str) -> tuple[str, list[str]]:
    """The body of the rule `name` for strings that satisfy `form`, and further rules that it needs.

    `form` is a normal form, with texts under `not` that are left out. No body where there is no such string.
    Raises TooLargeError.
    """
    patterns = [form["pattern"]] if "pattern" in form else [part["pattern"] for part in form.get("allOf", ())]
    least, most = form.get("minLength", 0), form.get("maxLength")
    nodes = [whole_node(pattern) for pattern in patterns]
    others = form.get("not", ())
    limits = [Length(least, most)] if least or most is not None else []
    readers: list[Pattern | OtherThan] = [*map(Pattern, nodes), *([OtherThan(others)] if others else [])]
    if not readers and not limits:
        return "string", []
    automata: list[Automaton[Any]] = [*readers, *limits]
    edges = {edge for reader in readers for edge in reader.edges}
    try:
        rules = common_rules(automata, edges, f"{name}-s", r'"\""', _symbols)
    except TooLargeError:
        if len(automata) > 1:
            raise
        node = nodes[0] if nodes else Repeat(Chars(complement(())), least, most)
        return rf'"\"" {expression(node, _symbol)} "\""', []
    return (rf'"\"" {name}-s0' if rules else ""), rules


def _symbol(ranges: Ranges) -> str:
    return f"({' | '.join(_symbols(ranges))})"


def _symbols(ranges: Ranges) -> list[str]:
    """One of the characters of `ranges`, as JSON writes it in a string."""
    codes = {code for code in (*_CONTROLS, *_NAMED) if any(low <= code <= high for low, high in ranges)}
    plain = _both(ranges, _PLAIN)
    if len(codes) == len(_CONTROLS) + len(_NAMED) and plain == _PLAIN:
        return _ANY
    options = [char_class(plain)] if plain else []
    options += [escape for code, escape in _NAMED.items() if code in codes]
    if codes.issuperset(_CONTROLS):
        options.append(r'"\\" ([bfnrt] | "u00" [01] [0-9A-Fa-f])')
    else:
        options += [_control(code) for code in sorted(codes.intersection(_CONTROLS))]
    return options


def _control(code: int) -> str:
    short = f"[{_SHORT[code]}] | " if code in _SHORT else ""
    low = f"{code & 15:x}"
    return rf'"\\" ({short}"u00{code >> 4}" [{low}{low.upper() if low.isalpha() else ""}])'


def _both(mine: Ranges, theirs: Ranges) -> Ranges:
    """The characters that are in both."""
    met = ((max(low, other[0]), min(high, other[1])) for low, high in mine for other in theirs)
    return tuple((low, high) for low, high in met if low <= high)
