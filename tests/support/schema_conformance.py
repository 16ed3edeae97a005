"""What an engine makes of a schema, against what jsonschema says of its instances."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from tests.support.schema_instances import by_hypothesis, comparable, spoilt
from tests.support.schema_normal_form import NormalForm
from velospec.constraints.matcher import Engine, Matcher
from velospec.constraints.schema import check_schema
from velospec.constraints.validation import Judge
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar, GrammarKind

_MOST_FOR_HYPOTHESIS = 2500  # characters of a schema: it takes minutes for large ones


@dataclass(slots=True)
class Conformance:
    """What came of one schema."""

    refusal: str = ""  # why it was not compiled
    right: int = 0  # instances that are valid, and were accepted
    wrong: int = 0  # that are not, and were refused
    mistakes: list[str] = field(default_factory=list)  # all others, and what the normal form judges wrong


def conformance(schema: Any, engine: Engine, *, count: int) -> Conformance:
    """Compile `schema` less its formats and try `count` instances of each source, and as many spoilt ones."""
    plain = _without_formats(schema)
    found = Conformance()
    try:
        prepared = check_schema(json.dumps(plain))
        compiled = engine.compile(Grammar(GrammarKind.JSON_SCHEMA, json.dumps(plain)))
    except GrammarError as error:
        found.refusal = error.cause
        return found
    chance = random.Random(0)  # noqa: S311 - of tests
    form = NormalForm(prepared.schema, chance)
    judged = comparable(plain)
    judge = Judge(judged)
    for value in _values(form, plain, count, chance):
        text = form.text(value)
        if text is None:
            continue
        valid = judge.holds(value, judged)
        if valid != form.valid(value):
            found.mistakes.append(f"{'valid' if valid else 'invalid'}, not by the normal form: {text}")
        accepted = accepts(compiled.matcher(), text)
        if accepted != valid:
            found.mistakes.append(f"{'refused though valid' if valid else 'accepted though invalid'}: {text}")
        found.right += valid and accepted
        found.wrong += not valid and not accepted
    return found


def accepts(matcher: Matcher, text: str) -> bool:
    """Whether `text`, byte by byte, is a complete text of the grammar; the first 256 ids are the bytes."""
    return all(matcher.accept(byte) for byte in text.encode()) and matcher.accepting


def _values(form: NormalForm, schema: Any, count: int, chance: random.Random) -> list[Any]:
    values = by_hypothesis(schema, count) if len(json.dumps(schema)) < _MOST_FOR_HYPOTHESIS else []
    for _ in range(count):
        try:
            values.append(form.instance())
        except ValueError:
            break
    return [
        *values,
        *(spoilt(value, chance) for value in values),
        *(spoilt(value, chance) for value in values),
    ]


def _without_formats(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_formats(inner) for inner in schema]
    if isinstance(schema, dict):
        return {
            key: _without_formats(value)
            for key, value in schema.items()
            if not (key == "format" and isinstance(value, str))
        }
    return schema
