"""JSON texts read strictly, as RFC 8259 has them, and what of a schema's text cannot be worked with.

Knows nothing of keywords.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from velospec.constraints.json_schema.documents import escape
from velospec.constraints.json_schema.refusals import Refusal

MOST_LEVELS = 100
"""Brackets in brackets of a schema's text. The deepest of 1,279 schemas of real use has 26."""

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


class TooDeepError(ValueError):
    """Brackets in brackets in brackets, beyond what can be read."""


def read(text: str) -> Any:
    """The value of the JSON `text`. Raises ValueError where it is none; NaN, which Python reads, is none."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise TooDeepError("it is nested too deep") from error


def read_schema(text: str) -> Any:
    """`read`, of a schema.

    Raises TooDeepError behind MOST_LEVELS, and Refusal for a number beyond floating point and for half of a
    surrogate pair, which is no character: no answer could have either.
    """
    schema = read(text)
    waiting = [(schema, "#", 1)]
    while waiting:
        value, pointer, level = waiting.pop()
        if isinstance(value, dict | list) and level > MOST_LEVELS:
            raise TooDeepError(f"it is nested deeper than {MOST_LEVELS} levels")
        if isinstance(value, dict):
            for key in value:
                _check(key, pointer)
            waiting += [(inner, f"{pointer}/{escape(key)}", level + 1) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(inner, f"{pointer}/{number}", level + 1) for number, inner in enumerate(value)]
        else:
            _check(value, pointer)
    return schema


def _check(value: Any, pointer: str) -> None:
    if isinstance(value, str) and _HALF_A_PAIR.search(value):
        raise Refusal(ascii(pointer)[1:-1], "half of a surrogate pair is no character")
    if isinstance(value, float) and not math.isfinite(value):
        raise Refusal(pointer, "the number is too large")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
