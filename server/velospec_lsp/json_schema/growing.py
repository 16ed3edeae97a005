"""A schema for documents that are still being written: what is there counts, not what is missing."""

from __future__ import annotations

from typing import Any

from velospec_lsp.json_schema.alternatives import Schema

_DATA = frozenset({"const", "enum", "default", "examples"})
_ASKS_FOR_MORE = frozenset(
    {"required", "minItems", "minProperties", "contains", "minContains", "dependentRequired"}
    # What depends on the presence of others, or on its absence, may turn out either way.
    | {"dependencies", "dependentSchemas", "if", "then", "else", "not"}
    | {"unevaluatedProperties", "unevaluatedItems"}
)


def growing(schema: Schema) -> Schema:
    """`schema` without what more members or items could mend: if it is broken, no addition helps."""
    if isinstance(schema, bool):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs", "definitions"):
            made[key] = {name: growing(part) for name, part in value.items()}
        elif key in _DATA or not isinstance(value, dict | list):
            if key not in _ASKS_FOR_MORE:
                made[key] = value
        elif key not in _ASKS_FOR_MORE:
            name = "anyOf" if key == "oneOf" and "anyOf" not in schema else key
            made[name] = _nested(value)
    return made


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return [growing(part) if isinstance(part, dict) else part for part in value]
    return growing(value)
