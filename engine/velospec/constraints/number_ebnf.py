"""Numbers of JSON in EBNF: within bounds, and multiples of a factor. Knows no schema but these keywords.

A number with a bound or a factor is written without exponent, and zero without a sign.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from velospec.constraints.automata import Automaton, common_rules
from velospec.constraints.ebnf import char_class

WHOLE = '"-"? ("0" | [1-9] [0-9]*)'
NUMBER = rf'{WHOLE} ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?'

_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_EDGES = {code for char in "-.0123456789" for code in (ord(char), ord(char) + 1)}


_Read = tuple[bool, bool, int, str]


def number_rules(form: dict[str, Any], name: str) -> tuple[str, list[str]]:
    """The body of the rule `name` for numbers that satisfy `form`, and further rules that it needs.

    No body where there is no such number. Raises TooLargeError.
    """
    factors = (
        [form["multipleOf"]]
        if "multipleOf" in form
        else [part["multipleOf"] for part in form.get("allOf", ())]
    )
    automata: list[Automaton[Any]] = [
        _Bound(_decimal(form[key]), sign) for key, sign in _BOUNDS if key in form
    ]
    automata += [_Multiple(_decimal(factor)) for factor in factors]
    whole = form["type"] == "integer"
    if not automata:
        return ("whole" if whole else "number"), []
    rules = common_rules(
        [_Plain(whole=whole), *automata], _EDGES, f"{name}-n", '""', lambda ranges: [char_class(ranges)]
    )
    return (f"{name}-n0" if rules else ""), rules


def _decimal(value: float) -> Decimal:
    return Decimal(repr(value))


class _Plain:
    """A number without exponent, `whole` or with a fraction. A state says what was read last."""

    start = "start"

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole

    def step(self, state: str, code: int) -> str | None:
        char = chr(code)
        if char == "-":
            return "minus" if state == "start" else None
        if char == ".":
            return "point" if state in {"zero", "less", "digits"} and not self._whole else None
        if not "0" <= char <= "9":
            return None
        if state in {"start", "minus"}:
            return "digits" if char != "0" else "zero" if state == "start" else "less"
        if state in {"zero", "less"}:
            return None
        return "digits" if state == "digits" else "fraction"

    def accepts(self, state: str) -> bool:
        return state in {"zero", "digits", "fraction"}


class _Bound:
    """At least, more than, at most or less than a bound, found digit by digit.

    A state is whether the number is negative, whether the point was read, how many digits were read on this
    side of it (no more than tell something), and how these compare with the bound's, both without sign.
    """

    start = (False, False, 0, "=")

    def __init__(self, bound: Decimal, relation: str) -> None:
        self._bound = bound
        self._relation = relation
        self._whole, _, fraction = f"{abs(bound):f}".partition(".")
        self._fraction = fraction.rstrip("0")

    def step(self, state: _Read, code: int) -> _Read:
        negative, behind, read, found = state
        char = chr(code)
        if char == "-":
            return (True, False, 0, "=")
        if char == ".":
            return (negative, True, 0, self._whole_parts(read, found))
        digits = self._fraction if behind else self._whole
        if found == "=" and (behind or read < len(digits)):
            other = digits[read] if read < len(digits) else "0"
            found = "<" if char < other else ">" if char > other else "="
        return (negative, behind, min(read + 1, len(digits) + (not behind)), found)

    def accepts(self, state: _Read) -> bool:
        negative, behind, read, found = state
        relation = _MIRRORED[self._relation] if negative else self._relation
        if (self._bound < 0) != negative and self._bound != 0:
            return relation in {
                ">=",
                ">",
            }  # without its sign, the bound is below all numbers of the other sign
        return self._compared(behind=behind, read=read, found=found) in relation

    def _whole_parts(self, read: int, found: str) -> str:
        """How what stands before the point compares with the bound's whole part."""
        return found if read == len(self._whole) else "<" if read < len(self._whole) else ">"

    def _compared(self, *, behind: bool, read: int, found: str) -> str:
        """How the number compares with the bound if it ends here."""
        found = found if behind else self._whole_parts(read, found)
        missing = self._fraction[read if behind else 0 :]
        return "<" if found == "=" and missing else found


class _Multiple:
    """A multiple of a factor. A state is the remainder so far, and how many digits stand behind the point."""

    start = (0, -1)

    def __init__(self, factor: Decimal) -> None:
        _, digits, exponent = factor.normalize().as_tuple()
        self._places = max(0, -int(exponent))
        self._factor: int = int("".join(map(str, digits))) * 10 ** max(0, int(exponent))

    def step(self, state: tuple[int, int], code: int) -> tuple[int, int] | None:
        rest, read = state
        char = chr(code)
        if char == "-":
            return state
        if char == ".":
            return (rest, 0)
        if read == self._places:
            return state if char == "0" else None
        digit = ord(char) - ord("0")
        return ((rest * 10 + digit) % self._factor, read if read < 0 else read + 1)

    def accepts(self, state: tuple[int, int]) -> bool:
        rest, read = state
        missing = self._places - max(read, 0)
        return int(f"{rest}{'0' * missing}") % self._factor == 0
