"""The schema of what is left to write: a schema, less what a document already has around the cursor.

The grammar engines want an object's members in the schema's order, and see no text behind the answer. So
they are not given the document's schema and its beginning, but the schema of the brackets that are open at
the cursor: without the keys that are there already, on either side, and with the one that is being written
first. Where many members stand before the cursor, one of our own stands for all but the last.

What no engine enforces is left out here: it is the business of the last look at the document (`fit`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from velospec.core.grammar import LONGEST_WHITESPACE
from velospec_lsp.json_schema.alternatives import (
    Plain,
    Schema,
    allows_kind,
    alternatives,
    item,
    member,
    plausible,
)
from velospec_lsp.json_schema.place import Frame, Place
from velospec_lsp.json_schema.plain import DEEPEST, PlainSchemas, TooLargeError
from velospec_lsp.json_schema.syntax import without_trailing_commas

_MOST_BLANK = LONGEST_WHITESPACE // 2
_LONG_BLANK = re.compile(rf"\s{{{_MOST_BLANK},}}")
_STAND_IN = "#"  # the key of the member that stands for those before the cursor
_MOST_MATCHES = 8  # keys that a half-written one may become


@dataclass(frozen=True, slots=True)
class Residual:
    """`after` is the beginning of a text of the schema `source` (JSON), as the grammar engines take it."""

    source: str
    after: str


class NothingFitsError(Exception):
    """The document has what its schema does not allow, so that nothing can be said of what may follow."""


def residual(root: dict[str, Any], place: Place, *, strictly: bool = True) -> Residual:
    """What is left of the schema `root` at `place`.

    Raises NothingFitsError, KeyError (a reference names nothing). Without `strictly`, types, keys and enums
    are all that is asked of values: for schemas that an engine refuses.
    """
    schema: Schema = False
    for deepest in range(DEEPEST, -2, -1):
        try:
            schema = _Work(root, place, PlainSchemas(root, strictly=strictly, deepest=deepest)).of(root, 0)
            break
        except TooLargeError:
            continue
    if schema is False:
        raise NothingFitsError
    after = after_text(place)
    if after[:1].isspace():
        # The engines' texts begin with no blank: that of a document stands within brackets of its own.
        schema, after = {"type": "array", "prefixItems": [schema], "items": False}, f"[{after}"
    return Residual(json.dumps(schema if isinstance(schema, dict) else {}, ensure_ascii=False), after)


def after_text(place: Place) -> str:
    """The beginning that stands for all that is before the cursor; its end is the document's own text."""
    opened = []
    for level, frame in enumerate(place.frames[: place.opened]):
        is_object = isinstance(frame.before, dict)
        opened.append("{" if is_object else "[")
        if level < place.opened - 1:
            opened.append(f"{json.dumps(frame.key, ensure_ascii=False)}: " if is_object else "")
        elif place.elided:
            opened.append(f'"{_STAND_IN}": 0,' if is_object else "0,")
    recent = without_trailing_commas(place.recent)
    return "".join(opened) + _LONG_BLANK.sub(lambda found: found[0][-_MOST_BLANK:], recent)


@dataclass(frozen=True, slots=True)
class _Object:
    """What the conjunction of schemas says of an object's keys."""

    order: list[str]
    required: set[str]
    rest: Schema  # of keys that are not in `order`


class _Work:
    def __init__(self, root: dict[str, Any], place: Place, plain: PlainSchemas) -> None:
        self.root = root
        self.plain = plain
        self._place = place
        self._frames = place.frames

    def of(self, schema: Schema, level: int) -> Schema:
        """The schema of what is open at `level`; False where the document does not fit."""
        if level == len(self._frames):
            return self.plain.of(schema)
        frame = self._frames[level]
        is_object = isinstance(frame.before, dict)
        kind = "object" if is_object else "array"
        found: list[dict[str, Any]] = []
        possible = [plain for plain in alternatives(self.root, schema) if allows_kind(plain, kind)]
        # Where none agrees with what is there, a mistake elsewhere in it says nothing of what may follow.
        for plain in [plain for plain in possible if self._agrees(plain, frame)] or possible:
            found += self._objects(plain, level) if is_object else self._arrays(plain, level)
        if not found:
            return False
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _agrees(self, plain: Plain, frame: Frame) -> bool:
        """Whether the members that are there fit, as far as type, enum and const tell."""
        if isinstance(frame.before, list):
            known: Iterable[tuple[Schema, Any]] = (
                (item(plain, index), value) for index, value in enumerate(frame.before[:32])
            )
        else:
            members = {**frame.before, **{k: v for k, v in frame.behind.items() if v is not None}}
            known = ((member(plain, key), value) for key, value in members.items())
        return all(plausible(self.root, schema, value) for schema, value in known)

    def _arrays(self, plain: Plain, level: int) -> list[dict[str, Any]]:
        frame = self._frames[level]
        before, innermost = frame.before, level == len(self._frames) - 1
        first: list[Schema] = [{"const": 0}] if self._stands_in(level) else []
        first += [True] * len(frame.shown)
        if not innermost:
            first.append(self.of(item(plain, len(before)), level + 1))
        if False in first:
            return []
        following = len(before) + (0 if innermost else 1)
        schema: dict[str, Any] = {"type": "array", "prefixItems": first}
        listed = max((len(part.get("prefixItems", ())) for part in plain), default=0)
        listed = max(listed, *(len(p["items"]) for p in plain if isinstance(p.get("items"), list)), 0)
        for index in range(following, max(listed, following)):
            schema["prefixItems"].append(self.plain.of(item(plain, index)))
        schema["items"] = self.plain.of(item(plain, max(listed, following)))
        least = max((part.get("minItems", 0) for part in plain), default=0) - following
        if least > 0 and not self._place.behind.strip():
            schema["minItems"] = least + len(first)
        return [schema]

    def _objects(self, plain: Plain, level: int) -> list[dict[str, Any]]:
        frame = self._frames[level]
        innermost = level == len(self._frames) - 1
        told = self._told(plain, frame)
        begun: dict[str, Schema] = {_STAND_IN: {"const": 0}} if self._stands_in(level) else {}
        begun.update(dict.fromkeys(frame.shown, True))
        if frame.key is not None:
            inner = member(plain, frame.key)
            schema = self.plain.of(inner) if innermost else self.of(inner, level + 1)
            return [] if schema is False else [self._object(told, plain, frame, {**begun, frame.key: schema})]
        state = self._place.state
        if not state.in_key:
            return [self._object(told, plain, frame, begun)]
        typed = state.open[1:]
        matching = [key for key in told.order if json.dumps(key, ensure_ascii=False)[1:-1].startswith(typed)]
        found = [
            self._object(told, plain, frame, {**begun, key: schema})
            for key in matching[:_MOST_MATCHES]
            if (schema := self.plain.of(member(plain, key))) is not False
        ]
        if not found and told.rest is not False:
            # A key that the schema does not name: those that it requires come after it.
            found = [self._object(replace(told, required=set()), plain, frame, begun)]
        return found

    def _stands_in(self, level: int) -> bool:
        """Whether the beginning has our own member in the brackets at `level`."""
        return self._place.elided and level == self._place.opened - 1

    def _told(self, plain: Plain, frame: Frame) -> _Object:
        order = dict.fromkeys(key for part in plain for key in part.get("properties", {}))
        required = dict.fromkeys(key for part in plain for key in part.get("required", ()))
        there = {*frame.before, *frame.behind, frame.key}
        free = [key for key in {**order, **required} if key not in there]
        patterns = [part for part in plain if "patternProperties" in part]
        rest = member(tuple({**part, "properties": {}, "patternProperties": {}} for part in plain), "")
        if patterns:
            rest = rest if rest is not False else {}
        return _Object(free, {key for key in required if key not in there}, rest)

    def _object(self, told: _Object, plain: Plain, frame: Frame, begun: dict[str, Schema]) -> dict[str, Any]:
        properties = dict(begun)
        # What comes after brackets that are still open inside is far.
        copied = self.plain.of if frame is self._frames[-1] else self.plain.leaf
        for key in told.order:
            if key not in properties:
                properties[key] = copied(member(plain, key))
        patterns = {
            pattern: schema for part in plain for pattern, schema in self.plain.patterns(part).items()
        }
        closed = any(part.get("additionalProperties", True) is False for part in plain)
        rest: Schema = False if closed else copied(told.rest)
        if patterns or rest is not False:
            # Not to be written a second time.
            properties.update(dict.fromkeys({*frame.before, *frame.behind} - set(properties), False))
        required = [key for key in properties if key in begun or key in told.required]
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        if patterns:
            schema["patternProperties"] = patterns
        return {**schema, "additionalProperties": rest}
