"""Answers checked against their schema."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from velospec.constraints.validation import Judge, violations

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


def test_a_draft_that_is_named_takes_nothing_from_exactness() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "multipleOf": 0.1}
    assert violations("368.7", json.dumps(schema)) == []
    judge = Judge(schema)
    assert judge.holds(368.7, schema)
    assert not judge.holds(0.35, schema)


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^\p{L}+$", "aЯ", "a1"),
        (r"^\P{L}+$", "12", "a1"),
        (r"^\u{1F600}$", "😀", "u"),
        (r"^\ud83d\ude00$", "😀", "u"),
        (r"^(?<n>ab)c$", "abc", "ab"),
        (r"^\d$", "1", "\u0661"),  # ECMA 262 knows ten digits
        ("^a$", "a", "a\n"),
        ("^[^]$", "\n", ""),
        ("^(?!a)", "b", "a"),  # not enforced, but checked
        (r"^(a|b)\1$", "aa", "ab"),
    ],
)
def test_patterns_are_those_of_ecma_262(pattern: str, right: str, wrong: str) -> None:
    as_value = json.dumps({"pattern": pattern})
    as_name = json.dumps({"patternProperties": {pattern: {"type": "null"}}, "additionalProperties": False})
    for text, valid in [(right, True), (wrong, False)]:
        assert (violations(json.dumps(text), as_value) == []) == valid
        assert (violations(json.dumps({text: None}), as_name) == []) == valid
    assert violations(json.dumps({right: 1}), as_name)


def test_a_pattern_that_no_one_reads_is_named() -> None:
    (message,) = violations('"a"', json.dumps({"pattern": r"(?!\p{L})"}))
    assert message.startswith("#: it cannot be checked: ")
    assert r"(?!\p{L})" in message


def test_long_enumerations_are_told_by_their_number() -> None:
    assert violations("1", json.dumps({"enum": ["a", True]})) == ["#: 1 is not one of ['a', True]"]
    (message,) = violations("1.5", json.dumps({"enum": list(range(2000))}))
    assert message == "#: 1.5 is not one of the 2,000 values allowed"
    assert not violations("1.0", json.dumps({"enum": [*range(2000), True]}))


def test_what_must_not_be_and_equal_items_are_violations() -> None:
    schema = json.dumps({"uniqueItems": True, "items": {"not": {"const": 3}}})
    assert violations("[1, true, 0, false, [1], [true]]", schema) == []
    assert [message.split(":")[0] for message in violations("[3, 1, 1.0]", schema)] == ["#", "#/0"]
