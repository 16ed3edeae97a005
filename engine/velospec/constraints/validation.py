"""Checks answers, and schemas themselves, with the jsonschema package (MIT, pure Python): its one home.

Formats are checked where the grammar enforces them (`json_schema.formats`) and jsonschema knows how.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from velospec.constraints.json_schema.documents import escape
from velospec.constraints.json_schema.formats import FORMATS

_OLDER = ("Draft7Validator", "Draft4Validator")  # tried where a schema names no draft
_LONGEST_MESSAGE = 300  # characters: jsonschema's messages repeat the instance


def violations(text: str, schema: str) -> list[str]:
    """What of the JSON `text` breaks the JSON Schema `schema`; empty where it is valid.

    Each message begins with the JSON pointer to the place in the text.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        return [f"#: no JSON: {error}"]
    errors = Judge(json.loads(schema)).errors(value)
    return [f"{_pointer(path)}: {_shortened(message)}" for path, message in errors]


class Judge:
    """Judges values by one schema, by the draft that it names (2020-12 where it names none and fits that)."""

    def __init__(self, schema: Any) -> None:
        import jsonschema  # noqa: PLC0415 - takes 0.1 s; needed with the first schema only

        newest = jsonschema.Draft202012Validator
        kind = jsonschema.validators.validator_for(schema, default=newest)
        self.malformed = _malformed(kind, schema)
        if self.malformed and not (isinstance(schema, dict) and "$schema" in schema):
            older = [getattr(jsonschema, name) for name in _OLDER]
            kind = next((each for each in older if not _malformed(each, schema)), kind)
            self.malformed = _malformed(kind, schema)
        self.keywords = frozenset(kind.VALIDATORS)
        self.siblings = (
            "unevaluatedProperties" in self.keywords
        )  # from draft 2019-09 on, `$ref` has neighbours
        self.identifier = "id" if kind is jsonschema.Draft4Validator else "$id"
        self.draft_3 = "extends" in self.keywords
        known = kind.FORMAT_CHECKER.checkers
        formats = jsonschema.FormatChecker([name for name in FORMATS if name in known])
        exact = jsonschema.validators.extend(kind, {"multipleOf": _multiples})
        self._validator = exact(schema, format_checker=formats)

    def errors(self, value: Any) -> list[tuple[list[str | int], str]]:
        """Path in `value` and message of each violation."""
        found = sorted(
            self._validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path))
        )
        return [(list(error.absolute_path), error.message) for error in found]

    def holds(self, value: Any, schema: Any) -> bool:
        """Whether `value` satisfies `schema`, a part of the whole."""
        return bool(self._validator.evolve(schema=schema).is_valid(value))


def _multiples(validator: Any, factor: float, value: Any, _schema: Any) -> Iterator[Any]:
    """In place of jsonschema's `multipleOf`, which divides in floating point: 368.7 is a multiple of 0.1."""
    import jsonschema  # noqa: PLC0415 - as in Judge

    if validator.is_type(value, "number") and (Fraction(str(value)) / Fraction(str(factor))).denominator != 1:
        yield jsonschema.ValidationError(f"{value!r} is not a multiple of {factor}")


def _malformed(kind: Any, schema: Any) -> str:
    """What is wrong with `schema` as a schema, and where; empty where nothing is."""
    checker = kind(kind.META_SCHEMA)
    error = next(iter(checker.iter_errors(schema)), None)
    return f"{_pointer(error.absolute_path)}: {_shortened(error.message)}" if error is not None else ""


def _pointer(path: Any) -> str:
    return "#" + "".join(f"/{escape(str(part))}" for part in path)


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"
