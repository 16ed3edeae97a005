"""What a JSON Schema says of one object or array, its references and combinations taken apart.

A schema that refers, combines or chooses is a list of alternatives, each a conjunction of plain schemas.
Where there are too many, only the first count: what is offered is narrowed, never widened.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any] | bool
Plain = tuple[dict[str, Any], ...]
"""Plain schemas that all hold, none of which refers to or combines others."""

_MOST = 24  # alternatives
_DEEPEST = 24  # references and combinations within each other
_COMBINED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


def resolve(root: dict[str, Any], pointer: str) -> Schema:
    """The schema that the reference `pointer` (`#`, `#/…`) names in `root`. Raises KeyError."""
    found: Any = root
    for part in pointer.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (IndexError, TypeError, ValueError) as error:
            raise KeyError(pointer) from error
    if not isinstance(found, dict | bool):
        raise KeyError(pointer)
    return found


def alternatives(root: dict[str, Any], schema: Schema, depth: int = 0) -> list[Plain]:
    """The alternatives of `schema`, at most 24. Raises KeyError for a reference that names nothing."""
    if isinstance(schema, bool):
        return [()] if schema else []
    if depth > _DEEPEST:
        return [()]
    plain = {name: value for name, value in schema.items() if name not in _COMBINED}
    choices: list[list[Plain]] = [[(plain,)] if plain else [()]]
    if "$ref" in schema:
        choices.append(alternatives(root, resolve(root, schema["$ref"]), depth + 1))
    choices += [alternatives(root, part, depth + 1) for part in schema.get("allOf", ())]
    for name in ("anyOf", "oneOf"):
        if name in schema:
            parts = (alternatives(root, part, depth + 1) for part in schema[name])
            choices.append(list(itertools.islice(itertools.chain.from_iterable(parts), _MOST)))
    combined = (tuple(itertools.chain.from_iterable(each)) for each in itertools.product(*choices))
    return list(itertools.islice(combined, _MOST))


def allows_kind(plain: Plain, kind: str) -> bool:
    """Whether a value of the type `kind` may stand there."""
    return all(kind in _as_list(part.get("type", kind)) for part in plain)


def member(plain: Plain, key: str) -> Schema:
    """The schema of the value that an object has under `key`; False where it may have none."""
    found = [schema for part in plain for schema in _member(part, key)]
    return _all_of(found)


def item(plain: Plain, index: int) -> Schema:
    """The schema of an array's item; False where the array may not be so long."""
    return _all_of([schema for part in plain for schema in _item(part, index)])


def plausible(root: dict[str, Any], schema: Schema, value: Any) -> bool:
    """Whether `value` may be what `schema` describes, as far as type, enum and const tell."""
    return any(all(_fits(part, value) for part in plain) for plain in alternatives(root, schema))


def _member(part: dict[str, Any], key: str) -> Iterator[Schema]:
    properties = part.get("properties", {})
    patterns = [
        schema for pattern, schema in part.get("patternProperties", {}).items() if _matches(pattern, key)
    ]
    if key in properties:
        yield properties[key]
    yield from patterns
    if key not in properties and not patterns and "additionalProperties" in part:
        yield part["additionalProperties"]


def _item(part: dict[str, Any], index: int) -> Iterator[Schema]:
    items = part.get("items", True)
    listed = items if isinstance(items, list) else part.get("prefixItems", [])
    others = part.get("additionalItems", True) if isinstance(items, list) else items
    yield listed[index] if index < len(listed) else others
    if index >= part.get("maxItems", index + 1):
        yield False


def _all_of(schemas: list[Schema]) -> Schema:
    if any(schema is False for schema in schemas):
        return False
    telling = [schema for schema in schemas if schema is not True and schema != {}]
    if not telling:
        return True
    return telling[0] if len(telling) == 1 else {"allOf": telling}


def _matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False


def _fits(part: dict[str, Any], value: Any) -> bool:
    if "const" in part and part["const"] != value:
        return False
    if "enum" in part and value not in part["enum"]:
        return False
    kinds = _as_list(part.get("type", []))
    if not kinds:
        return True
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number" in kinds or ("integer" in kinds and float(value).is_integer())
    return _KINDS[type(value)] in kinds


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
