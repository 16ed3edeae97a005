"""Whether the rules of a grammar in llama.cpp's notation come to an end.

A rule each of whose alternatives needs itself, such as `root ::= "a" root`, has no finite text: an answer by
it would go on until something cuts it. Reads rules only as far as that takes; what is wrong in their notation
is for the engines to tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

_NAME = r"[A-Za-z0-9_-]+"
_TOKEN = re.compile(
    rf"""
    (?P<skip> \#[^\n]* | \s+ )
    | (?P<rule> {_NAME} ) \s* ::=
    | (?P<name> {_NAME} )
    | (?P<chars> "(?:\\.|[^"\\\n])*" | \[(?:\\.|[^\]\\\n])*\] | \. | [<!][^>\s]*> )
    | (?P<maybe> [*?] | \{{ \s* 0*(?=[,}}]) [^}}]* \}} )
    | (?P<times> \+ | \{{[^}}]*\}} )
    | (?P<sign> [()|] )
    """,
    re.VERBOSE,
)
_Token = tuple[str, str]


def endless_rule(source: str) -> str | None:
    """The name of a rule that `root` may lead to and that has no end; None where there is none."""
    rules = _rules(source)
    ending = _ending(rules)
    name = next((name for name in _reached(rules, "root") if name not in ending), None)
    seen: set[str] = set()
    while name is not None and name not in seen:  # on to one that leads to itself
        seen.add(name)
        name = next((used for used in _names(rules[name]) if used in rules and used not in ending), None)
    return name


def _rules(source: str) -> dict[str, list[_Token]]:
    rules: dict[str, list[_Token]] = {}
    body: list[_Token] = []
    for found in _TOKEN.finditer(source):
        kind = found.lastgroup or ""
        if kind == "rule":
            body = rules.setdefault(found["rule"], [])
            body += [("sign", "|")] if body else []
        elif kind != "skip":
            body.append((kind, found[kind]))
    return rules


def _names(body: Iterable[_Token]) -> list[str]:
    return [text for kind, text in body if kind == "name"]


def _reached(rules: Mapping[str, Sequence[_Token]], start: str) -> list[str]:
    found = dict.fromkeys([start] if start in rules else [])
    left = list(found)
    while left:
        new = [name for name in _names(rules[left.pop()]) if name in rules and name not in found]
        found.update(dict.fromkeys(new))
        left += dict.fromkeys(new)
    return list(found)


def _ending(rules: Mapping[str, Sequence[_Token]]) -> set[str]:
    """The rules with a finite text. A rule is looked at again when one that it names is found to be such."""
    users: dict[str, list[str]] = {}
    for name, body in rules.items():
        for used in dict.fromkeys(_names(body)):
            users.setdefault(used, []).append(name)
    ending = {used for used in users if used not in rules}  # names without a rule are the engines' to refuse
    left = list(rules)
    while left:
        name = left.pop()
        if name not in ending and _ends(rules[name], ending):
            ending.add(name)
            left += users.get(name, ())
    return ending


def _ends(body: Sequence[_Token], ending: Collection[str]) -> bool:
    """Whether one of the alternatives of `body` has a finite text, where the rules `ending` have."""
    around: list[tuple[bool, bool]] = []
    some, whole = False, True  # an alternative before this one; this one so far
    for (kind, text), (after, _) in pairwise([*body, ("sign", "|")]):
        if text == "(" and kind == "sign":
            around.append((some, whole))
            some, whole = False, True
        elif text == "|" and kind == "sign":
            some, whole = some or whole, True
        elif kind in {"name", "sign"}:
            last = text in ending if kind == "name" else some or whole
            if kind == "sign":
                some, whole = around.pop() if around else (False, True)
            whole = whole and (last or after == "maybe")
    return some or whole
