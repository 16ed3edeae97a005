"""Answers checked against their schema."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from velospec.constraints.validation import violations

SCHEMA = json.dumps(
    {
        "properties": {"a/b": {"type": "array", "items": {"type": "string", "format": "ipv4"}}},
        "required": ["a/b"],
    }
)


def test_a_valid_answer_has_no_violation() -> None:
    assert violations('{"a/b": ["1.2.3.4"]}', SCHEMA) == []


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("{}", "#: 'a/b' is a required property"),
        ('{"a/b": ["1.2.3.4", 5]}', "#/a~1b/1: 5 is not of type 'string'"),
        ('{"a/b": ["1.2.3"]}', "#/a~1b/0: '1.2.3' is not a 'ipv4'"),
        ('{"a/b"', "#: no JSON: "),
    ],
)
def test_a_violation_says_where(text: str, pointer: str) -> None:
    (message,) = violations(text, SCHEMA)
    assert message.startswith(pointer)


def test_all_violations_are_told_and_long_ones_cut() -> None:
    found = violations(json.dumps({"a/b": [1, list(range(1000))]}), SCHEMA)
    assert [message.split(":")[0] for message in found] == ["#/a~1b/0", "#/a~1b/1"]
    assert len(found[1]) < 400


def test_the_draft_is_the_one_that_the_schema_names_or_fits() -> None:
    draft_4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 5, "exclusiveMinimum": True}
    unnamed = {"items": [{"type": "null"}], "additionalItems": False}
    assert violations("5", json.dumps(draft_4))
    assert violations("[null, 1]", json.dumps(unnamed))
    assert not violations("[null]", json.dumps(unnamed))


def test_jsonschema_is_loaded_with_the_first_check_only() -> None:
    code = "import sys, velospec.constraints.schema as s; print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("text", "count"), [("368.7", 0), ("0.3", 0), ("1e3", 0), ("0.35", 1), ('"a"', 0)])
def test_multiples_are_counted_in_decimals(text: str, count: int) -> None:
    assert len(violations(text, '{"multipleOf": 0.1}')) == count
