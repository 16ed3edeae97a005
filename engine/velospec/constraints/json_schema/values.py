"""JSON values as JSON Schema compares them: true is not 1, and 1.0 is.

Knows nothing of schemas.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any


class Values(list[Any]):
    """The values of an enumeration, in their order; asks for one take as long whatever their number."""

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self._keys = frozenset(map(_key, self))

    def __contains__(self, value: object) -> bool:
        return _key(value) in self._keys


def same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal."""
    return _key(value) == _key(other)


def all_different(values: list[Any]) -> bool:
    """Whether no two of `values` are equal."""
    return len(set(map(_key, values))) == len(values)


def types_of(value: Any) -> frozenset[str]:
    """The JSON types that a value has: a whole number is also an integer."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"integer", "number"} if value.is_integer() else {"number"})
        case str():
            return frozenset({"string"})
    return frozenset({"array" if isinstance(value, list) else "object"})


def _key(value: Any) -> Hashable:
    """What is equal for equal values, and for those only."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", *map(_key, value))
        case dict():
            return ("object", frozenset((name, _key(inner)) for name, inner in value.items()))
    key: Hashable = value
    return key
