"""Dataclasses to plain maps and back, checked field by field.

Knows the few types that frames are made of: str, int, float, bool, None, Any, unions, tuples of one type,
maps from str to one type, string enumerations and dataclasses. Knows nothing of frames, sockets or msgpack.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from velospec.core.errors import ProtocolError, VeloSpecError

T = TypeVar("T")


def to_plain(value: Any) -> dict[str, Any]:
    """The map of a dataclass instance: nested maps and lists of str, int, float, bool and None."""
    return asdict(value)


def from_plain(kind: type[T], value: object, *, lenient: bool = False) -> T:
    """An instance of the dataclass `kind` from the map `value`.

    `lenient` ignores fields that `kind` does not know, at the top level only. Raises ProtocolError that
    names the field, what was wanted and the type of what came; never the value, which may be source text.
    """
    return cast("T", _dataclass(kind, value, kind.__name__, lenient=lenient))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _dataclass(kind: Any, value: object, where: str, *, lenient: bool = False) -> Any:
    if not isinstance(value, dict):
        raise _unfit(where, "a map", value)
    hints = _hints(kind)
    if not lenient and not value.keys() <= hints.keys():
        raise ProtocolError(f"{where} has a field that this version does not know.")
    arguments = {}
    for item in fields(kind):
        if item.name in value:
            arguments[item.name] = _value(hints[item.name], value[item.name], f"{where}.{item.name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ProtocolError(f"{where} lacks the field {item.name!r}.")
    try:
        return kind(**arguments)
    except VeloSpecError as error:  # the class itself refuses a value
        raise ProtocolError(error.cause, error.remedy) from error


def _value(kind: Any, value: object, where: str) -> Any:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), value, where)
    if origin in (tuple, Mapping):
        return _collection(origin, get_args(kind), value, where)
    if is_dataclass(kind):
        return _dataclass(kind, value, where)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _member(kind, value, where)
    return _scalar(kind, value, where)


def _collection(origin: Any, arguments: tuple[Any, ...], value: object, where: str) -> Any:
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _unfit(where, "a list", value)
        return tuple(_value(arguments[0], item, f"{where}[]") for item in value)
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _unfit(where, "a map by name", value)
    return {key: _value(arguments[1], item, f"{where}[]") for key, item in value.items()}


def _union(kinds: tuple[Any, ...], value: object, where: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    rest = [kind for kind in kinds if kind is not types.NoneType]
    return _value(rest[0], value, where)


def _member(kind: type[StrEnum], value: object, where: str) -> StrEnum:
    if not isinstance(value, str) or value not in {str(member) for member in kind}:
        raise _unfit(where, f"one of {', '.join(kind)}", value)
    return kind(value)


def _scalar(kind: Any, value: object, where: str) -> Any:
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise _unfit(where, "a finite number", value)
        return float(value)
    if kind is int and isinstance(value, bool):
        raise _unfit(where, "a whole number", value)
    if not isinstance(value, kind):
        raise _unfit(where, kind.__name__, value)
    return value


def _unfit(where: str, wanted: str, value: object) -> ProtocolError:
    return ProtocolError(f"{where} should be {wanted}, not {type(value).__name__}.")
