"""What satisfies a schema's opposite, as alternatives of schemas."""

from __future__ import annotations

from typing import Any

from velospec.constraints.json_schema.documents import Document, Place
from velospec.constraints.json_schema.refusals import Refusal

NEVER = Place(schema=False, pointer="#")

_JSON_TYPES = frozenset({"null", "boolean", "number", "string", "array", "object"})
_BOUNDS = {  # the type that each limits, and the bound of its opposite
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}
_DEEPEST = 20


def negation(document: Document, place: Place, depth: int = 0) -> list[tuple[Place, ...]]:
    """Alternatives, each a tuple of schemas that all have to apply; together they are what `place` forbids.

    Raises Refusal where that cannot be said in schemas that can be enforced.
    """
    if isinstance(place.schema, bool):
        return [] if place.schema else [()]
    if depth > _DEEPEST:
        raise Refusal(place.pointer, "it refers to itself")
    words = document.keywords(place)
    if words.get("unenforced"):
        keyword = words["unenforced"][0]
        raise Refusal(place.at(keyword), f'the opposite of "{keyword}" cannot be enforced')
    alternatives: list[tuple[Place, ...]] = []
    for keyword, value in words.items():
        alternatives += _opposite(document, place, keyword, value, depth)
    return alternatives


def _opposite(  # noqa: C901, PLR0911, PLR0912 - one case for each keyword
    document: Document, place: Place, keyword: str, value: Any, depth: int
) -> list[tuple[Place, ...]]:
    pointer = place.at(keyword)

    def made(words: dict[str, Any]) -> tuple[Place, ...]:
        return (document.make(words, pointer),)

    objects = frozenset({"object"})
    match keyword:
        case "unenforced" | "then" | "else":
            return []
        case "$ref":
            return negation(document, value, depth + 1)
        case "allOf":
            return [state for inner in value for state in negation(document, inner, depth + 1)]
        case "anyOf":
            for inner in value:
                negation(document, inner, depth + 1)
            return [tuple(document.make({"not": inner}, inner.pointer) for inner in value)]
        case "not":
            return [(value,)]
        case "enums":
            return [made({"excluded": values}) for values in value]
        case "pattern":
            return [made({"type": frozenset({"string"}), "unlike": value})]
        case "required":
            return [made({"type": objects, "properties": {name: NEVER}}) for name in value]
        case "properties":
            for inner in value.values():
                negation(document, inner, depth + 1)
            return [
                made({"type": objects, "required": [name], "properties": {name: _not(document, inner)}})
                for name, inner in value.items()
                if inner.schema is not True
            ]
        case "type" if "integer" not in value or "number" in value:
            return [made({"type": _JSON_TYPES - value})]
    if keyword in _BOUNDS:
        kind, opposite, step = _BOUNDS[keyword]
        if step < 0 and value == 0:
            return []
        return [made({"type": frozenset({kind}), opposite: value + step})]
    if keyword == "if" and not {"then", "else"} & document.keywords(place).keys():
        return []
    raise Refusal(pointer, f'the opposite of "{keyword}" cannot be enforced')


def _not(document: Document, inner: Place) -> Place:
    return NEVER if inner.schema is True else document.make({"not": inner}, inner.pointer)
