"""Checks answers, and schemas themselves, with the jsonschema package (MIT, pure Python): its one home.

Formats are checked where the grammar enforces them (`json_schema.formats`) and jsonschema knows how.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from velospec.constraints.json_schema.documents import escape
from velospec.constraints.json_schema.formats import FORMATS
from velospec.constraints.json_schema.names import matches
from velospec.constraints.json_schema.pattern_nodes import PatternError
from velospec.constraints.json_schema.reading import read
from velospec.constraints.json_schema.values import Values, all_different

_OLDER = ("Draft7Validator", "Draft4Validator")  # tried where a schema names no draft
_NEWEST = "https://json-schema.org/schema"  # whatever draft that is
_MOST_NAMED = 20  # values of an enumeration in a message
_LONGEST_MESSAGE = 300  # characters: jsonschema's messages repeat the instance


def violations(text: str, schema: str) -> list[str]:
    """What of the JSON `text` breaks the JSON Schema `schema`; empty where it is valid.

    Each message begins with the JSON pointer to the place in the text. Raises ValueError where `schema` is
    no JSON; `schema.check_schema` says more of what is wrong with one.
    """
    judge = Judge(read(schema))
    if judge.malformed:
        return [f"#: it cannot be checked: the schema is malformed at {judge.malformed}"]
    try:
        value = read(text)
    except ValueError as error:
        return [f"#: no JSON: {error}"]
    try:
        errors = judge.errors(value)
    except PatternError as error:
        return [f"#: it cannot be checked: {error}"]
    except RecursionError:
        return ["#: it is nested too deep to be checked"]
    return [f"{_pointer(path)}: {_shortened(message)}" for path, message in errors]


class Judge:
    """Judges values by one schema, by the draft that it names (2020-12 where it names none and fits that)."""

    def __init__(self, schema: Any) -> None:
        import jsonschema  # noqa: PLC0415 - takes 0.1 s; needed with the first schema only

        kind, known = _draft(schema)
        self.unknown_draft = "" if known else _shortened(repr(schema["$schema"]))
        self.malformed = _malformed(kind, schema)
        if self.malformed and not (known and isinstance(schema, dict) and "$schema" in schema):
            older = [getattr(jsonschema, name) for name in _OLDER]
            kind = next((each for each in older if not _malformed(each, schema)), kind)
            self.malformed = _malformed(kind, schema)
        self.keywords = frozenset(kind.VALIDATORS)
        self.siblings = (
            "unevaluatedProperties" in self.keywords
        )  # from draft 2019-09 on, `$ref` has neighbours
        self.identifier = "id" if kind is jsonschema.Draft4Validator else "$id"
        self.draft_3 = "extends" in self.keywords
        checkers = kind.FORMAT_CHECKER.checkers
        formats = jsonschema.FormatChecker([name for name in FORMATS if name in checkers])
        if not isinstance(schema, dict | bool):
            schema = True  # jsonschema fails on it; it is malformed
        self._validator = jsonschema.validators.extend(kind, _exact(kind))(schema, format_checker=formats)

    def errors(self, value: Any) -> list[tuple[list[str | int], str]]:
        """Path in `value` and message of each violation.

        Raises PatternError for a pattern that neither we nor Python can read, and RecursionError.
        """
        found = sorted(
            self._validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path))
        )
        return [(list(error.absolute_path), error.message) for error in found]

    def holds(self, value: Any, schema: Any) -> bool:
        """Whether `value` satisfies `schema`, a part of the whole."""
        if isinstance(schema, dict) and "$schema" in schema:
            # jsonschema would take its own validator for that draft, which lacks what is exact here.
            schema = {key: part for key, part in schema.items() if key != "$schema"}
        return bool(self._validator.evolve(schema=schema).is_valid(value))


def _draft(schema: Any) -> tuple[Any, bool]:
    """The validator for the draft that `schema` names, and whether that is known.

    An address of a draft may begin with http or https and may end with an empty fragment.
    """
    import jsonschema  # noqa: PLC0415 - as in Judge

    newest = jsonschema.Draft202012Validator
    name = schema.get("$schema", _NEWEST) if isinstance(schema, dict) else _NEWEST
    if not isinstance(name, str):
        return newest, True  # which is malformed
    address = re.sub("^http:", "https:", name.removesuffix("#"))
    if address == _NEWEST:
        return newest, True
    for scheme in ("https:", "http:"):
        spelt = re.sub("^https:", scheme, address)
        found = jsonschema.validators.validator_for({"$schema": spelt}, default=None)
        if found is not None:
            return found, True
    return newest, False


def _exact(kind: Any) -> dict[str, Callable[..., Iterator[Any]]]:
    """Keywords in place of those of `kind`: exact, and as quick for long enumerations as for short ones."""
    import jsonschema  # noqa: PLC0415 - as in Judge

    said: dict[int, tuple[Any, Values]] = {}  # by the address of an enumeration, which is kept with it

    def enum(_validator: Any, values: Any, value: Any, _schema: Any) -> Iterator[Any]:
        if id(values) not in said:
            said[id(values)] = values, Values(values)
        if value not in said[id(values)][1]:
            allowed = values if len(values) <= _MOST_NAMED else f"the {len(values):,} values allowed"
            yield jsonschema.ValidationError(f"{value!r} is not one of {allowed}")

    def additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Iterator[Any]:
        patterns = schema.get("patternProperties", {})
        if patterns and validator.is_type(value, "object"):
            taken = [name for name in value if any(_found(pattern, name) for pattern in patterns)]
            schema = {"properties": {**schema.get("properties", {}), **dict.fromkeys(taken, True)}}
        yield from kind.VALIDATORS["additionalProperties"](validator, inner, value, schema)

    return {
        "enum": enum,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": _unique_items,
        "not": _not,
        "multipleOf": _multiples,
    }


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema  # noqa: PLC0415 - as in Judge

    if validator.is_type(value, "string") and not _found(pattern, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for pattern, inner in patterns.items():
            for name in value:
                if _found(pattern, name):
                    yield from validator.descend(value[name], inner, path=name, schema_path=pattern)


def _unique_items(validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema  # noqa: PLC0415 - as in Judge

    if wanted and validator.is_type(value, "array") and not all_different(value):
        yield jsonschema.ValidationError(f"{value!r} has items that are equal")


def _not(validator: Any, inner: Any, value: Any, _schema: Any) -> Iterator[Any]:
    import jsonschema  # noqa: PLC0415 - as in Judge

    if validator.evolve(schema=inner).is_valid(value):
        yield jsonschema.ValidationError(f"{value!r} is what must not be")


def _found(pattern: str, text: str) -> bool:
    """Whether `pattern` of ECMA 262 is found in `text`."""
    try:
        return matches(pattern, text)
    except PatternError as unread:  # it looks ahead or refers back, which Python does much alike
        try:
            return re.search(pattern, text) is not None
        except re.error:
            raise PatternError(f'the pattern "{pattern}" cannot be read: {unread}') from unread


def _multiples(validator: Any, factor: float, value: Any, _schema: Any) -> Iterator[Any]:
    """In place of jsonschema's `multipleOf`, which divides in floating point: 368.7 is a multiple of 0.1."""
    import jsonschema  # noqa: PLC0415 - as in Judge

    if validator.is_type(value, "number") and (Fraction(str(value)) / Fraction(str(factor))).denominator != 1:
        yield jsonschema.ValidationError(f"{value!r} is not a multiple of {factor}")


def _malformed(kind: Any, schema: Any) -> str:
    """What is wrong with `schema` as a schema, and where; empty where nothing is."""
    import jsonschema  # noqa: PLC0415 - as in Judge

    checker = jsonschema.validators.extend(kind, _exact(kind))(kind.META_SCHEMA)
    error = next(iter(checker.iter_errors(schema)), None)
    return f"{_pointer(error.absolute_path)}: {_shortened(error.message)}" if error is not None else ""


def _pointer(path: Any) -> str:
    return "#" + "".join(f"/{escape(str(part))}" for part in path)


def _shortened(message: str) -> str:
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"
