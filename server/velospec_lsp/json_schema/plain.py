"""Schemas with those keywords alone that a grammar can enforce, and no larger than a grammar may be.

They are for the guidance of a model. What they leave out is no loss: the document is checked by its whole
schema before anything is shown.
"""

from __future__ import annotations

import re
from typing import Any

from velospec_lsp.json_schema.alternatives import Schema, resolve

DEEPEST = 4
"""Members within members that a model is guided in; it writes few lines at a time."""

_MOST_NODES = 400  # schemas in one: preparing and compiling takes about 0.3 ms for each
_MOST_REFERENCES = 8  # each naming the next
_LEAF = frozenset({"type", "enum", "const"})
_KEPT = _LEAF | {"required", "minItems", "maxItems"}
_BOUNDS = frozenset({"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_NESTED = frozenset({"additionalProperties", "additionalItems", "items"})
_FORMATS = frozenset({"date-time", "date", "time", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"})
_BEYOND_GRAMMAR = re.compile(r"\(\?|\\[1-9bBpPkcu]")  # look-around, references and what dialects differ in


class TooLargeError(Exception):
    """The plain copies of one schema are more than a grammar should be made of."""


class PlainSchemas:
    """Makes plain copies of schemas out of `root`, references replaced by what they name."""

    def __init__(self, root: dict[str, Any], *, strictly: bool, deepest: int) -> None:
        """Without `strictly`, bounds, patterns and formats are left out too.

        Values more than `deepest` members or items down are told by their types alone: with -1, all are, and
        there is no limit to their number.
        """
        self._root = root
        self._strictly = strictly
        self._deepest = deepest
        self._nodes = 0

    def of(self, schema: Schema, depth: int = 0, references: int = 0) -> Schema:
        """The plain copy of `schema`, which lies `depth` members down.

        Raises KeyError for a reference that names nothing, TooLargeError where the copies are too many.
        """
        if isinstance(schema, bool):
            return schema
        self._nodes += 1
        if self._nodes > _MOST_NODES and self._deepest >= 0:
            raise TooLargeError
        copy: dict[str, Any] = {}
        for name, value in schema.items():
            if depth > self._deepest:
                copy.update({name: value} if name in _LEAF else {})
            elif name == "$ref":
                if references < _MOST_REFERENCES:
                    named = self.of(resolve(self._root, value), depth, references + 1)
                    copy.setdefault("allOf", []).append(named)
            elif name in ("anyOf", "oneOf"):
                parts = [self.of(part, depth, references) for part in value]
                copy.setdefault("allOf", []).append({"anyOf": parts})
            elif name == "allOf":
                copy.setdefault("allOf", []).extend(self.of(part, depth, references) for part in value)
            elif name != "additionalItems" or isinstance(schema.get("items"), list):
                self._copy(copy, name, value, depth)
        return _without_lone_parts(copy)

    def leaf(self, schema: Schema) -> Schema:
        """`schema` told by its types alone."""
        return self.of(schema, self._deepest + 1)

    def patterns(self, part: dict[str, Any], depth: int = 0) -> dict[str, Schema]:
        """The plain copy of the schemas of keys by pattern, of an object that lies `depth` members down."""
        found = part.get("patternProperties", {})
        return {
            pattern: self.of(schema, depth + 1)
            for pattern, schema in found.items()
            if _BEYOND_GRAMMAR.search(pattern) is None
        }

    def _copy(self, copy: dict[str, Any], name: str, value: Any, depth: int) -> None:
        if name in _KEPT or (name in _BOUNDS and self._strictly and not isinstance(value, bool)):
            copy[name] = value
        elif name == "properties":
            copy[name] = {key: self.of(schema, depth + 1) for key, schema in value.items()}
        elif name == "patternProperties":
            copy[name] = self.patterns({name: value}, depth)
        elif name == "prefixItems" or (name == "items" and isinstance(value, list)):
            copy["prefixItems"] = [self.of(schema, depth + 1) for schema in value]
        elif name in _NESTED:
            copy["items" if name == "additionalItems" else name] = self.of(value, depth + 1)
        elif self._strictly and (
            (name == "pattern" and _BEYOND_GRAMMAR.search(value) is None)
            or (name == "format" and value in _FORMATS)
        ):
            copy[name] = value


def _without_lone_parts(schema: dict[str, Any]) -> Schema:
    """`schema` itself, or what it says where that is another's name, or a choice, and nothing else."""
    if schema.keys() != {"allOf"} or len(schema["allOf"]) != 1:
        return schema
    lone: Schema = schema["allOf"][0]
    return lone
