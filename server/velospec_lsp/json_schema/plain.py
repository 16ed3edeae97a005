"""Schemas with those keywords alone that a grammar can enforce, for the guidance of a model.

The others are no loss: the document is checked by its whole schema before anything is shown.
"""

from __future__ import annotations

import re
from typing import Any

from velospec_lsp.json_schema.alternatives import Schema, resolve

_KEPT = frozenset({"type", "enum", "const", "required", "minItems", "maxItems"})
_BOUNDS = frozenset({"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_NESTED = frozenset({"additionalProperties", "additionalItems", "items"})
_LISTS = frozenset({"anyOf", "allOf", "prefixItems"})
_FORMATS = frozenset({"date-time", "date", "time", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"})
_BEYOND_GRAMMAR = re.compile(r"\(\?|\\[1-9bBpPkcu]")  # look-around, references and what dialects differ in


class PlainSchemas:
    """Makes plain copies of schemas out of `root`; the definitions they refer to come with `definitions`."""

    def __init__(self, root: dict[str, Any], *, strictly: bool) -> None:
        """Without `strictly`, bounds, patterns and formats are left out too."""
        self._root = root
        self._strictly = strictly
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []

    def of(self, schema: Schema) -> Schema:
        """The plain copy of `schema`. Raises KeyError for a reference that names nothing."""
        if isinstance(schema, bool):
            return schema
        copy: dict[str, Any] = {}
        for name, value in schema.items():
            if name == "additionalItems" and not isinstance(schema.get("items"), list):
                continue  # it means nothing then
            self._copy(copy, name, value)
        return copy

    def patterns(self, part: dict[str, Any]) -> dict[str, Schema]:
        """The plain copy of the schemas of keys by pattern."""
        found = part.get("patternProperties", {})
        return {pattern: self.of(schema) for pattern, schema in found.items() if self._enforceable(pattern)}

    def definitions(self) -> dict[str, Any]:
        """What the copies made so far refer to, as members of their root."""
        made: dict[str, Schema] = {}
        while self._waiting:
            pointer = self._waiting.pop()
            made[self._names[pointer]] = self.of(resolve(self._root, pointer))
        return {"$defs": made} if made else {}

    def _copy(self, copy: dict[str, Any], name: str, value: Any) -> None:
        if name in _KEPT or (name in _BOUNDS and self._strictly and not isinstance(value, bool)):
            copy[name] = value
        elif name == "$ref":
            copy[name] = f"#/$defs/{self._name(value)}"
        elif name == "properties":
            copy[name] = {key: self.of(schema) for key, schema in value.items()}
        elif name == "patternProperties":
            copy[name] = self.patterns({name: value})
        elif name == "items" and isinstance(value, list):
            copy["prefixItems"] = [self.of(schema) for schema in value]
        elif name in _NESTED:
            copy["items" if name == "additionalItems" else name] = self.of(value)
        elif name in _LISTS:
            copy.setdefault(name, []).extend(self.of(schema) for schema in value)
        elif name == "oneOf":
            copy.setdefault("allOf", []).append({"anyOf": [self.of(schema) for schema in value]})
        elif self._strictly and (
            (name == "pattern" and self._enforceable(value)) or (name == "format" and value in _FORMATS)
        ):
            copy[name] = value

    def _enforceable(self, pattern: str) -> bool:
        return _BEYOND_GRAMMAR.search(pattern) is None

    def _name(self, pointer: str) -> str:
        if pointer not in self._names:
            resolve(self._root, pointer)
            self._names[pointer] = f"r{len(self._names)}"
            self._waiting.append(pointer)
        return self._names[pointer]
