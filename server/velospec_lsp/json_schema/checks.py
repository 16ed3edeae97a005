"""Whether a JSON document breaks its schema anywhere that it did not before."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from velospec.constraints.validation import Judge
from velospec_lsp.json_schema.growing import growing

_Violation = tuple[str, ...]  # the path and the message


class Checks:
    """The checks by one schema."""

    def __init__(self, schema: str) -> None:
        """`schema` is JSON; the validator's library is loaded here."""
        whole = json.loads(schema)
        judge = Judge(whole)
        self.malformed: str = judge.malformed
        """What is wrong with the schema, and where; empty where nothing is."""
        less = Judge(growing(whole))
        self._whole = lru_cache(maxsize=4)(lambda document: _violations(judge, document))
        self._growing = lru_cache(maxsize=4)(lambda document: _violations(less, document))

    def complete(self, document: str, known: str | None) -> bool:
        """Whether `document`, JSON, is right, or wrong only where `known` is: the same with less in it."""
        return _nothing_new(self._whole(document), self._whole(known) if known is not None else None)

    def growing(self, document: str, known: str | None) -> bool:
        """The same of a document in which something is still missing."""
        return _nothing_new(self._growing(document), self._growing(known) if known is not None else None)


@lru_cache(maxsize=16)
def checks_of(schema: str) -> Checks:
    """The checks by `schema` (JSON), kept for the last schemas."""
    return Checks(schema)


def _nothing_new(found: frozenset[_Violation] | None, before: frozenset[_Violation] | None) -> bool:
    return found is not None and found <= (before or frozenset())


def _violations(judge: Judge, document: str) -> frozenset[_Violation] | None:
    """What `document` breaks, doubled keys among it; None where it is no JSON."""
    doubled: list[_Violation] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(members)
        if len(made) < len(members):
            keys = [key for key, _ in members]
            doubled.append(("doubled", *sorted(key for key in made if keys.count(key) > 1)))
        return made

    try:
        value = json.loads(document, object_pairs_hook=pairs)
        errors = judge.errors(value)
    except (ValueError, RecursionError):
        return None
    # A message that shows the value would be another one once the value has grown.
    plain = [(*map(str, path), message.replace(repr(_at(value, path)), "it")) for path, message in errors]
    return frozenset((*doubled, *plain))


def _at(value: Any, path: list[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value
