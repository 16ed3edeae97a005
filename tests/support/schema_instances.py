"""Instances of JSON schemas, right and wrong.

hypothesis-jsonschema 0.23.1 makes objects by a private part of Hypothesis that has changed since; `_Many` is
that part as it was. It cannot make instances of recursive schemas: `schema_normal_form` can.
"""

from __future__ import annotations

import copy
import gc
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import hypothesis_jsonschema._from_schema as hypothesis_objects
from hypothesis import HealthCheck, given, settings
from hypothesis.internal.conjecture import utils
from hypothesis_jsonschema import from_schema

from velospec.constraints.json_schema.pattern_nodes import PatternError
from velospec.constraints.json_schema.patterns import whole_match

Json = Any
JUNK: tuple[Json, ...] = (None, True, 0, -1, 1.5, "", "x", "é😀", [], [1], {}, {"a": 1}, 10**6)
_LONG = 100


class _Many:
    def __init__(self, *args: Any, **sizes: Any) -> None:
        self._many = utils.many(*args, **sizes)
        self._elements: Iterator[None] | None = None

    def more(self) -> bool:
        if self._elements is None:
            self._many.__enter__()
            self._elements = iter(self._many)
        if next(self._elements, self) is self:
            self._many.__exit__(None, None, None)
            return False
        return True

    def reject(self) -> None:
        self._many.reject()


if not hasattr(utils.many, "more"):
    hypothesis_objects.cu = SimpleNamespace(many=_Many)


def comparable(schema: Json) -> Json:
    """A copy of `schema` for Python's judges: without formats, patterns meaning what they do in ECMA 262."""
    if isinstance(schema, list):
        return [comparable(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for key, value in schema.items():
        if key == "pattern" and isinstance(value, str):
            found[key] = for_python(value)
        elif key == "patternProperties" and isinstance(value, dict):
            found[key] = {for_python(pattern): comparable(inner) for pattern, inner in value.items()}
        elif key in {"enum", "const", "default", "examples", "required"}:
            found[key] = value
        elif not (key == "format" and isinstance(value, str)):
            found[key] = comparable(value)
    return found


def for_python(pattern: str) -> str:
    """`pattern` as Python's `re` reads what ECMA 262 means; itself where it is refused."""
    try:
        return whole_match(pattern)[:-1] + r"\Z"
    except PatternError:
        return pattern


def _without_large_bounds(schema: Json) -> Json:
    """A copy for hypothesis-jsonschema, which changes what it is given and takes minutes for long strings."""
    if isinstance(schema, list):
        return [_without_large_bounds(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_large_bounds(value)
        for key, value in schema.items()
        if not (key in {"maxLength", "maxItems"} and isinstance(value, int) and value > _LONG)
    }


def by_hypothesis(schema: Json, count: int) -> list[Json]:
    """Up to `count` valid instances; none where hypothesis-jsonschema cannot make any."""
    found: list[Json] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(from_schema(_without_large_bounds(schema)))
    def collect(value: Json) -> None:
        found.append(value)

    gc.freeze()  # Hypothesis collects garbage in each run, which takes seconds beside torch and large schemas
    try:
        collect()
    except Exception:  # noqa: BLE001 - it has many ways to give up: unresolved references, filters, patterns
        return found
    finally:
        gc.unfreeze()
    return found


def spoilt(value: Json, chance: random.Random) -> Json:
    """`value` with one change somewhere: it may be right still."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places:
        return chance.choice(JUNK)
    holder, key = chance.choice(places)
    match chance.randrange(4):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(["x", "a b", "ä", f"{key}s", str(key)[:-1]])] = chance.choice(JUNK)
        case 2 if isinstance(holder[key], str | int) and not isinstance(holder[key], bool):
            holder[key] = holder[key] + ("x" if isinstance(holder[key], str) else 1)
        case _:
            holder[key] = chance.choice(JUNK)
    return value


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from _places(inner)
