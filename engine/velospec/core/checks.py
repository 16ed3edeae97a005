"""Checks of what callers give, at the place where they give it: a wrong value is told by its name."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Any, TypeVar

from velospec.core.errors import SettingsError

_Choice = TypeVar("_Choice", bound=StrEnum)


def require(where: str, value: object, kind: type, remedy: str) -> None:
    """Raise SettingsError unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise SettingsError(f"{where} should be a {kind.__name__}, not {described(value)}.", remedy)


def require_all(where: str, values: object, kind: type, remedy: str) -> None:
    """Raise SettingsError unless `values` is a list or a tuple of `kind` alone."""
    if not isinstance(values, list | tuple):
        raise SettingsError(f"{where} should be a tuple of {kind.__name__}, not {described(values)}.", remedy)
    for place, value in enumerate(values):
        require(f"{where}[{place}]", value, kind, remedy)


def require_number(
    where: str, value: object, low: float, high: float, remedy: str, *, whole: bool = False
) -> None:
    """Raise SettingsError unless `value` is a number (an int where `whole`) from `low` to `high`."""
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]  # a number, as was just seen
        kind = "a whole number" if whole else "a number"
        bounds = f"of at least {low}" if high == math.inf else f"from {low} to {high}"
        raise SettingsError(f"{where} should be {kind} {bounds}, not {value!r}.", remedy)


def choice(where: str, value: Any, kind: type[_Choice]) -> _Choice:
    """The member of `kind` that `value` is or spells. Raises SettingsError."""
    try:
        return kind(value)
    except ValueError:
        raise SettingsError(f"{where} cannot be {value!r}.", f"Use one of: {', '.join(kind)}.") from None


def json_text(where: str, value: Any) -> str:
    """`value` as JSON. Raises SettingsError where JSON has nothing like it: a set, bytes, NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise SettingsError(
            f"{where} cannot be written as JSON: {why}.",
            "Use dicts, lists, strings, finite numbers, True, False and None alone.",
        ) from error


def described(value: object) -> str:
    """The kind of `value`, in short."""
    return "None" if value is None else f"of the type {type(value).__name__}"
