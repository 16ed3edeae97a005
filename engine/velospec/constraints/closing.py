"""JSON Schemas without room for properties that they do not name.

Knows nothing of engines, and leaves it to `schema` to say what is wrong with a schema.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar
from urllib.parse import unquote

from velospec.constraints.json_schema.reading import read_schema
from velospec.constraints.json_schema.refusals import Refusal

_OPEN = frozenset({
    "additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref",
    "if", "dependentSchemas", "enum", "const",
})  # fmt: skip
_OF_OBJECTS = _OPEN | {
    "properties", "required", "propertyNames", "minProperties", "maxProperties", "dependentRequired",
    "dependencies", "not",
}  # fmt: skip
_INSIDE = ("properties", "$defs", "definitions")  # maps of schemas
_IN_PLACE = ("$ref", "allOf", "anyOf", "oneOf")  # what they hold is about the same value
_NEVER_ALONE = ("not", "if", "then", "else", "dependentSchemas", "dependencies")

_Kind = TypeVar("_Kind", dict[str, Any], list[Any], int)


def closed(source: str) -> str:
    """The JSON Schema `source` without room for properties that it does not name.

    JSON Schema allows any others where `additionalProperties` is left out, which no one means who asks for an
    answer; OpenAI's strict mode and xgrammar's read schemas so too. A name that is only required is a name.
    What says anything about other properties stays as it is, and so does what needs more of them than it
    names, and what applies to a value beside other schemas, which may name more.
    """
    try:
        schema = read_schema(source)
    except (ValueError, Refusal):
        return source  # whoever compiles it says what is wrong with it
    return json.dumps(_closed(schema, _beside_others(schema)), ensure_ascii=False)


def _closed(schema: Any, beside: frozenset[int]) -> Any:
    if isinstance(schema, list):
        return [_closed(item, beside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: {name: _closed(each, beside) for name, each in value.items()}
        if key in _INSIDE and isinstance(value, dict)
        else _closed(value, beside)
        if key in ("items", "prefixItems", "anyOf", "oneOf")
        else value
        for key, value in schema.items()
    }
    named = schema.get("properties")
    if isinstance(named, dict) and id(schema) not in beside and not _OPEN & schema.keys():
        needed = _needed(schema)
        if needed is not None and _of(schema, "minProperties", int) <= len({*named, *needed}):
            inner["properties"] |= {name: True for name in needed if name not in named}
            inner["additionalProperties"] = False
    return inner


def _needed(schema: dict[str, Any]) -> list[str] | None:
    """The names that `schema` may require; None where it may require others, by schemas."""
    conditions = [_of(schema, key, dict) for key in ("dependentRequired", "dependencies")]
    lists = [_of(schema, "required", list), *(names for each in conditions for names in each.values())]
    if not all(isinstance(names, list) for names in lists):
        return None
    return [name for names in lists for name in names if isinstance(name, str)]


def _beside_others(schema: Any) -> frozenset[int]:
    """The subschemas of `schema`, by their addresses, that are not all that applies to a value."""
    met: set[tuple[int, bool]] = set()
    waiting = [(schema, False)]
    while waiting:
        value, beside = waiting.pop()
        if isinstance(value, list):
            waiting += [(each, beside) for each in value]
        elif isinstance(value, dict) and (id(value), beside) not in met:
            met.add((id(value), beside))
            for key, inner in value.items():
                waiting += _inside(schema, value, key, inner, beside=beside)
    return frozenset(address for address, beside in met if beside)


def _inside(
    root: Any, schema: dict[str, Any], key: str, value: Any, *, beside: bool
) -> list[tuple[Any, bool]]:
    """The schemas in one keyword, each with whether others apply to the same value."""
    if key in _IN_PLACE:
        several = key == "allOf" and len(_of(schema, key, list)) > 1
        others = beside or several or bool(_OF_OBJECTS & schema.keys() - {key})
        return [(_at(root, value) if key == "$ref" else value, others)]
    if key in _NEVER_ALONE:
        inner = list(value.values()) if key.startswith("depend") and isinstance(value, dict) else [value]
        return [(each, True) for each in inner]
    if key in _INSIDE and isinstance(value, dict):
        return [(each, False) for each in value.values()]
    return [(value, False)]


def _at(root: Any, reference: Any) -> Any:
    """What a reference leads to within the schema by a JSON pointer; None where it does not."""
    found = root
    for part in str(reference).removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return found if str(reference).startswith("#") else None


def _of(schema: dict[str, Any], key: str, kind: type[_Kind]) -> _Kind:
    """The keyword `key`, or an empty one where it is not there or malformed."""
    value = schema.get(key)
    return value if isinstance(value, kind) else kind()
