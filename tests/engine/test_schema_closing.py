"""Objects closed where a schema leaves them open by saying nothing, but never so that nothing is left."""

from __future__ import annotations

import json
from typing import Any

import pytest

from velospec.constraints.closing import closed
from velospec.constraints.schema import check_schema
from velospec.constraints.validation import violations

A = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
B = {"properties": {"b": {"type": "integer"}}, "required": ["b"]}
CASES: dict[str, tuple[dict[str, Any], str, str]] = {  # schema, and what it allows and forbids once closed
    "required and not named": (
        {**A, "required": ["a", "z"]},
        '{"a": 1, "z": []}',
        '{"a": 1, "z": 2, "y": 3}',
    ),
    "required on a condition": (
        {**A, "dependentRequired": {"a": ["z"]}},
        '{"a": 1, "z": 2}',
        '{"a": 1, "z": 2, "y": 3}',
    ),
    "needed by an older draft": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **A, "dependencies": {"a": ["z"]}},
        '{"a": 1, "z": 2}',
        '{"a": 1, "z": 2, "y": 3}',
    ),
    "needed by a schema": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **A, "dependencies": {"a": B}},
        '{"a": 1, "b": 2}',
        '{"a": 1}',
    ),
    "schemas on a condition": ({**A, "dependentSchemas": {"a": B}}, '{"a": 1, "b": 2}', '{"a": 1}'),
    "more than are named": ({**A, "minProperties": 2}, '{"a": 1, "b": 2}', '{"a": 1}'),
    "as many as are named": ({**A, "minProperties": 1}, '{"a": 1}', '{"a": 1, "b": 2}'),
    "values by number": ({**A, "enum": [{"a": 1, "b": 2}]}, '{"a": 1, "b": 2}', '{"a": 1}'),
    "alternatives alone": ({"type": "object", "anyOf": [A, B]}, '{"b": 1}', '{"b": 1, "c": 1}'),
    "alternatives beside members": ({**A, "anyOf": [B, {}]}, '{"a": 1, "b": 2}', '{"b": 1}'),
    "alternatives beside a demand": ({"required": ["z"], "anyOf": [A, B]}, '{"a": 1, "z": 2}', '{"a": 1}'),
    "several references": (
        {"$defs": {"a": A, "b": B}, "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
        '{"a": 1, "b": 2}',
        '{"a": 1}',
    ),
    "a reference beside members": (
        {"$defs": {"a": A}, "$ref": "#/$defs/a", **B},
        '{"a": 1, "b": 2}',
        '{"b": 2}',
    ),
    "a reference with a title": (
        {"$defs": {"a": A}, "allOf": [{"$ref": "#/$defs/a"}], "title": "A"},
        '{"a": 1}',
        '{"a": 1, "b": 2}',
    ),
    "a reference that is not to hold": (
        {"$defs": {"a/b": A}, "properties": {"x": {"not": {"$ref": "#/$defs/a~1b"}}}},
        '{"x": {"b": 2}}',
        '{"x": {"a": 1, "b": 2}}',
    ),
    "recursion": (
        {"properties": {"n": {"$ref": "#"}}},
        '{"n": {"n": {}}}',
        '{"n": {"m": {}}}',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_closing_leaves_what_a_schema_needs(case: str) -> None:
    schema, right, wrong = CASES[case]
    source = json.dumps(schema)
    assert not violations(right, source)
    found = closed(source)
    assert not violations(right, found)
    assert violations(wrong, found)
    assert check_schema(found, weaken=True)


@pytest.mark.parametrize(
    "source",
    [
        "{",
        '{"minimum": NaN}',
        '{"items": ' * 200 + "{}" + "}" * 200,
        r'{"properties": {}, "const": "\ud800"}',
    ],
)
def test_what_cannot_be_read_is_left_to_others(source: str) -> None:
    assert closed(source) == source


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": [1]},
        {"properties": {"a": {}}, "required": True},
        {"properties": {"a": {}}, "required": [[]], "minProperties": "2", "dependencies": 3},
        {"properties": {"a": {}}, "dependentRequired": {"a": 3}},
        {"$ref": 3, "allOf": 3, "anyOf": {}, "$defs": []},
        {"$ref": "#/a/0/b", "a": [3], "title": "x", "properties": {}},
    ],
)
def test_malformed_schemas_are_no_trouble(schema: dict[str, Any]) -> None:
    assert json.loads(closed(json.dumps(schema))).keys() >= schema.keys()
