"""The normal form of strings and numbers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from velospec.constraints.json_schema.automaton import Automaton
from velospec.constraints.json_schema.documents import Document, Keywords, Place
from velospec.constraints.json_schema.formats import FORMATS
from velospec.constraints.json_schema.pattern_nodes import ANYTHING, PatternError
from velospec.constraints.json_schema.patterns import lengths, other_than, whole_match, whole_node, write
from velospec.constraints.json_schema.refusals import Refusal, Refusals

EXACT = 2**53
"""Whole numbers up to here are exact in the engines, which count in 64-bit floating point."""

MOST_COUNTED = 10**9
"""Characters and members beyond this number are not counted. No answer has as many."""

_LONGEST_COMPARED = 200  # characters of patterns that are tried for a string in common: milliseconds
_LONGEST_HOST = 253  # characters, RFC 1123


def string(variant: tuple[Place, ...], document: Document, refusals: Refusals) -> dict[str, Any] | bool:
    """What a string has to be for `variant`."""
    words = [document.keywords(place) for place in variant]
    least = max((int(each["minLength"]) for each in words if "minLength" in each), default=0)
    most = min((int(each["maxLength"]) for each in words if "maxLength" in each), default=None)
    if any(each.get("format") == "hostname" for each in words):
        most = min(_LONGEST_HOST, _LONGEST_HOST if most is None else most)
    if most is not None and least > most:
        return False
    if least > MOST_COUNTED:
        place = next(place for place, each in zip(variant, words, strict=True) if "minLength" in each)
        why = f'"minLength" is not enforced: more than {MOST_COUNTED:,} characters are not counted'
        refusals.meet(Refusal(place.at("minLength"), why))
        least = 0
    if most is not None and most > MOST_COUNTED:
        most = None
    form: dict[str, Any] = {"type": "string"}
    if least:
        form["minLength"] = least
    if most is not None:
        form["maxLength"] = most
    patterns = [
        pattern for place in variant for pattern in _patterns(place, document.keywords(place), refusals)
    ]
    patterns = list(dict.fromkeys(patterns))
    if _exclude_each_other(patterns, least, most):
        return False
    if len(patterns) == 1:
        form["pattern"] = patterns[0]
    elif patterns:
        form["allOf"] = [{"pattern": pattern} for pattern in patterns]
    return form


def _exclude_each_other(patterns: list[str], least: int, most: int | None) -> bool:
    """Whether it is plain that no string of `least` to `most` characters is in all of `patterns`."""
    for fewest, largest in map(_lengths, patterns):
        if largest < least or (most is not None and most < fewest):
            return True
    return len(patterns) > 1 and sum(map(len, patterns)) <= _LONGEST_COMPARED and _disjoint(tuple(patterns))


@lru_cache(maxsize=4096)
def _lengths(pattern: str) -> tuple[float, float]:
    return lengths(whole_node(pattern))


@lru_cache(maxsize=4096)
def _disjoint(patterns: tuple[str, ...]) -> bool:
    try:
        return Automaton(map(whole_node, patterns)).empty
    except PatternError:
        return False


def _patterns(place: Place, words: Keywords, refusals: Refusals) -> list[str]:
    """What `place` says of a string, as patterns in the common notation."""
    found: list[str] = []
    if "pattern" in words:
        try:
            found.append(whole_match(words["pattern"]))
        except PatternError as error:
            refusals.meet(Refusal(place.at("pattern"), f'"pattern" is not enforced: {error}'))
    if isinstance(words.get("format"), str) and words["format"] in FORMATS:
        found.append(whole_match(FORMATS[words["format"]]))
    excluded = [value for value in words.get("excluded", ()) if isinstance(value, str)]
    if excluded:
        found.append(other_than(excluded))
    if "unlike" in words:
        try:
            others = Automaton([ANYTHING], [whole_node(words["unlike"])]).expression()
            found.append(f"^(?:{write(others)})$")
        except PatternError as error:
            refusals.meet(Refusal(place.pointer, f"the opposite of a pattern is not enforced: {error}"))
    return found


def number(
    variant: tuple[Place, ...], kind: str, document: Document, refusals: Refusals
) -> dict[str, Any] | bool:
    """What a number has to be for `variant`; `kind` is number or integer."""
    words = [document.keywords(place) for place in variant]
    _check_exact(variant, document, refusals)
    multiples = list(dict.fromkeys(each["multipleOf"] for each in words if "multipleOf" in each))
    if 1 in multiples:
        kind, multiples = "integer", [multiple for multiple in multiples if multiple != 1]
    excluded = [
        value
        for each in words
        for value in each.get("excluded", ())
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    low, low_open = _tightest(words, "minimum", "exclusiveMinimum", sign=1)
    high, high_open = _tightest(words, "maximum", "exclusiveMaximum", sign=-1)
    if kind == "integer":
        low = None if low is None else math.floor(low) + 1 if low_open else math.ceil(low)
        high = None if high is None else math.ceil(high) - 1 if high_open else math.floor(high)
        low_open = high_open = False
    if low is not None and high is not None and (low > high or (low == high and (low_open or high_open))):
        return False
    for place, each in zip(variant, words, strict=True):
        if excluded and "excluded" in each:
            refusals.meet(Refusal(place.pointer, "single numbers cannot be left out"))
    form: dict[str, Any] = {"type": kind}
    if low is not None:
        form["exclusiveMinimum" if low_open else "minimum"] = low
    if high is not None:
        form["exclusiveMaximum" if high_open else "maximum"] = high
    if len(multiples) == 1:
        form["multipleOf"] = multiples[0]
    elif multiples:
        form["allOf"] = [{"multipleOf": multiple} for multiple in multiples]
    return form


def _check_exact(variant: tuple[Place, ...], document: Document, refusals: Refusals) -> None:
    for place in variant:
        words: Keywords = document.keywords(place)
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            if abs(words.get(keyword, 0)) > EXACT:
                why = f'"{keyword}" is beyond 2^53, where the engines do not count exactly'
                refusals.meet(Refusal(place.at(keyword), why))


def _tightest(words: list[Keywords], closed: str, opened: str, *, sign: int) -> tuple[Any, bool]:
    """The bound that leaves least, and whether the bound itself is left out."""
    bounds = [(each[key], key == opened) for each in words for key in (closed, opened) if key in each]
    bounds = [(value, is_open) for value, is_open in bounds if abs(value) <= EXACT]
    if not bounds:
        return None, False
    value, is_open = max(bounds, key=lambda bound: (sign * bound[0], bound[1]))
    return (int(value) if float(value).is_integer() else value), is_open
