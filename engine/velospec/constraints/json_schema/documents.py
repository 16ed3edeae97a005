"""A schema document: its subschemas by place, its references, and its keywords in the terms of draft 2020-12.

Knows drafts 4 to 2020-12. Remote references are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from velospec.constraints.json_schema.refusals import Refusal
from velospec.constraints.json_schema.values import Values

_DATA = frozenset({"enum", "const", "default", "examples", "example"})  # hold values, not schemas
_MAPS = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES = ("additionalProperties", "propertyNames", "items", "not", "if", "then", "else")
_PLAIN = frozenset({
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "format", "minItems", "maxItems", "required", "minProperties", "maxProperties",
    "dependentRequired",
})  # fmt: skip
_PARTS = frozenset({"exclusiveMinimum", "exclusiveMaximum", "then", "else", "minContains", "maxContains"})
_UNENFORCED: dict[str, tuple[Any, ...]] = {  # and the values with which they say nothing
    "contains": (),
    "uniqueItems": (False,),
    "unevaluatedItems": (True, {}),
    "unevaluatedProperties": (True, {}),
    "$dynamicRef": (),
    "$recursiveRef": (),
}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A subschema: where it stands (a JSON pointer as a URI fragment), and what its references start from."""

    schema: Any  # a dict or a bool
    pointer: str
    base: str = ""

    def at(self, keyword: str) -> str:
        """The pointer to one of its keywords."""
        return f"{self.pointer}/{escape(keyword)}"


Keywords = dict[str, Any]
"""A subschema's keywords as in draft 2020-12, with places for schemas and some of our own.

`enums` is a list of `Values`, for `enum` and `const`; `unenforced` lists keywords that have no meaning
here. Schemas that we make may have `excluded`, `Values` that are not allowed, and `unlike`, a pattern that
must not match.
"""


def escape(key: str) -> str:
    """`key` as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


class Document:
    """The root schema and all that is reached from it."""

    def __init__(self, schema: Any, *, known: frozenset[str], siblings: bool, identifier: str) -> None:
        """`known` are the keywords of its draft, `identifier` is the one that gives a schema its address.

        `siblings`: whether keywords beside `$ref` count, as they do from draft 2019-09 on.
        """
        self._identifier = identifier
        self._known = known | _PARTS
        self._siblings = siblings
        self._places: dict[int, Place] = {}
        self._keywords: dict[Place, Keywords] = {}
        self._made: set[Place] = set()
        self.root = self.place(schema, "#", "")

    def place(self, schema: Any, pointer: str, base: str) -> Place:
        """The place of `schema`; the same for the same object. `base` is that of the schema around it."""
        if not isinstance(schema, dict):
            return Place(schema is not False, pointer, base)
        found = self._places.get(id(schema))
        if found is None:
            name = schema.get(self._identifier)
            if isinstance(name, str) and not name.startswith("#"):
                base = urljoin(base, name)
            found = self._places[id(schema)] = Place(schema, pointer, base)
        return found

    def make(self, schema: dict[str, Any], pointer: str) -> Place:
        """A subschema that we made of what stands at `pointer`; its values may be places."""
        place = Place(schema, pointer)
        self._keywords[place] = schema
        self._made.add(place)
        return place

    def is_read(self, place: Place) -> bool:
        """Whether the schema at `place` is of the document, not made by us."""
        return place not in self._made

    def keywords(self, place: Place) -> Keywords:
        """What the schema at `place` says. Raises Refusal for a reference that leads nowhere."""
        found = self._keywords.get(place)
        if found is None:
            found = self._keywords[place] = self._read(place)
        return found

    def _read(self, place: Place) -> Keywords:
        place = replace(
            place, schema={key: value for key, value in place.schema.items() if key in self._known}
        )
        schema = place.schema
        reference = schema.get("$ref")
        words: Keywords = {}
        if isinstance(reference, str):
            words["$ref"] = self._resolve(place, reference)
            if not self._siblings:
                return words
        words |= {key: value for key, value in schema.items() if key in _PLAIN}
        words |= self._children(place)
        self._modernise(place, words)
        if "type" in schema:
            types = schema["type"]
            words["type"] = frozenset([types] if isinstance(types, str) else types)
        words["enums"] = [
            Values(values)
            for values in ([schema["const"]] if "const" in schema else None, schema.get("enum"))
            if values is not None
        ]
        words["unenforced"] = [
            key for key, idle in _UNENFORCED.items() if key in schema and schema[key] not in idle
        ]
        return words

    def _children(self, place: Place) -> Keywords:
        schema = place.schema
        words: Keywords = {}
        for key in _MAPS:
            if key in schema:
                words[key] = {
                    name: self.place(inner, f"{place.at(key)}/{escape(name)}", place.base)
                    for name, inner in schema[key].items()
                }
        for key in _LISTS:
            if key in schema:
                words[key] = self._list(place, key, schema[key])
        for key in _SINGLES:
            if key in schema and not isinstance(schema[key], list):
                words[key] = self.place(schema[key], place.at(key), place.base)
        return words

    def _list(self, place: Place, key: str, schemas: list[Any]) -> list[Place]:
        return [
            self.place(inner, f"{place.at(key)}/{number}", place.base) for number, inner in enumerate(schemas)
        ]

    def _modernise(self, place: Place, words: Keywords) -> None:
        """Say what older drafts say in the words of 2020-12."""
        schema = place.schema
        if isinstance(schema.get("items"), list):
            words["prefixItems"] = self._list(place, "items", schema["items"])
            if "additionalItems" in schema:
                words["items"] = self.place(
                    schema["additionalItems"], place.at("additionalItems"), place.base
                )
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.capitalize()}"
            if isinstance(schema.get(exclusive), bool):
                del words[exclusive]
                if schema[exclusive] and bound in words:
                    words[exclusive] = words.pop(bound)
        for name, needs in schema.get("dependencies", {}).items():
            pointer = f"{place.at('dependencies')}/{escape(name)}"
            if isinstance(needs, list):
                words["dependentRequired"] = {**words.get("dependentRequired", {}), name: needs}
            else:
                inner = self.place(needs, pointer, place.base)
                words["dependentSchemas"] = {**words.get("dependentSchemas", {}), name: inner}

    def _resolve(self, place: Place, reference: str) -> Place:
        target = urljoin(place.base, reference) if place.base else reference
        resource, fragment = urldefrag(target)
        start = self._resources.get(resource.rstrip("#"))
        found = self._anchors.get((resource, fragment)) if fragment else start
        if found is None and start is not None and fragment.startswith("/"):
            found = self._walk(start, unquote(fragment))
        if found is None:
            why = f'"{reference}" is not in this schema; put what it names under $defs'
            raise Refusal(place.at("$ref"), why)
        return found

    def _walk(self, start: Place, fragment: str) -> Place | None:
        value, pointer, base = start.schema, start.pointer, start.base
        for part in fragment.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                return None
            pointer = f"{pointer}/{part}"
            if isinstance(value, dict):
                base = self.place(value, pointer, base).base
        return self.place(value, pointer, base) if isinstance(value, dict | bool) else None

    @cached_property
    def _named(self) -> tuple[dict[str, Place], dict[tuple[str, str], Place]]:
        """All schemas with an address of their own, and all with an anchor."""
        resources, anchors = {"": self.root, self.root.base.rstrip("#"): self.root}, {}
        waiting = [(self.root.schema, "#", "")]
        while waiting:
            value, pointer, base = waiting.pop()
            if isinstance(value, list):
                waiting += [(inner, f"{pointer}/{number}", base) for number, inner in enumerate(value)]
            if not isinstance(value, dict):
                continue
            name = value.get(self._identifier)
            if isinstance(name, str):
                place = self.place(value, pointer, base)
                base = place.base
                resource, fragment = urldefrag(urljoin(base, name))
                if fragment:
                    anchors[resource, fragment] = place
                elif not name.startswith("#"):
                    resources.setdefault(resource, place)
            if isinstance(value.get("$anchor"), str):
                anchors[urldefrag(base)[0], value["$anchor"]] = self.place(value, pointer, base)
            waiting += [
                (inner, f"{pointer}/{escape(key)}", base) for key, inner in value.items() if key not in _DATA
            ]
        return resources, anchors

    @property
    def _resources(self) -> dict[str, Place]:
        return self._named[0]

    @property
    def _anchors(self) -> dict[tuple[str, str], Place]:
        return self._named[1]
