"""Schemas that are deep, long, or say what JSON cannot: worked with, or refused by name."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from velospec.constraints.json_schema.reading import MOST_LEVELS
from velospec.constraints.schema import check_schema
from velospec.constraints.validation import violations
from velospec.core.errors import GrammarError


def refused(source: str) -> GrammarError:
    """The error for `source`."""
    with pytest.raises(GrammarError) as error:
        check_schema(source)
    return error.value


@pytest.mark.parametrize(
    "source",
    [
        '{"properties": {"a": ' * 120 + "{}" + "}}" * 120,
        '{"items": ' * 3000 + "{}" + "}" * 3000,
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"const": ' + "[" * MOST_LEVELS + "]" * MOST_LEVELS + "}",
        json.dumps(
            {"$ref": "#/$defs/0", "$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(3000)}}
        ),
    ],
    ids=["members", "items", "what is no schema", "value", "references"],
)
def test_a_schema_that_is_too_deep_is_refused_by_that_name(source: str) -> None:
    error = refused(source)
    assert "too deep" in error.cause
    assert "$defs" in error.remedy


def test_the_deepest_schema_is_taken() -> None:
    count = MOST_LEVELS // 2 - 1
    source = '{"properties": {"a": ' * count + '{"type": "null"}' + "}}" * count
    value = '{"a": ' * count
    assert check_schema(source)
    assert not violations(value + "null" + "}" * count, source)
    assert violations(value + "1" + "}" * count, source)


def test_an_answer_too_deep_to_be_checked_is_called_so() -> None:
    schema = '{"items": {"$ref": "#"}}'
    for levels in (500, 100_000):
        (message,) = violations("[" * levels + "]" * levels, schema)
        assert "nested too deep" in message


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (r'{"const": "\ud800"}', "#/const: half of a surrogate pair"),
        (r'{"enum": [1, "\udc00x"]}', "#/enum/1: half of a surrogate pair"),
        (r'{"properties": {"\ud800": {}}}', "#/properties: half of a surrogate pair"),
        (r'{"type": "string", "pattern": "^\\ud800$"}', "#/pattern"),
        ('{"type": "string", "pattern": "^\ud800$"}', "#/pattern"),
        ('{"type": "integer", "minimum": NaN}', "NaN"),
        ('{"const": [-Infinity]}', "-Infinity"),
        ('{"type": "number", "maximum": 1e999}', "#/maximum: the number is too large"),
    ],
)
def test_what_is_no_text_or_number_is_refused(source: str, says: str) -> None:
    assert says in refused(source).cause


def test_an_emoji_as_two_escapes_is_text() -> None:
    assert check_schema(r'{"const": "\ud83d\ude00"}').schema == {"enum": ["😀"]}


def test_a_number_that_is_none_is_a_violation() -> None:
    assert violations("NaN", "{}") == ["#: no JSON: NaN is no number of JSON"]


def _enumerations(count: int, start: int) -> list[dict[str, Any]]:
    words = [f"value number {number} of the list" for number in range(start, start + count)]
    mixed: list[Any] = [*words[::2], *range(start, start + count // 2)]
    return [
        {"enum": words},
        {"enum": words, "minLength": 3},
        {"enum": words[: count // 2], "allOf": [{"enum": words[::-1]}]},
        {"enum": mixed, "not": {"enum": mixed[::2]}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "enum": mixed},
        {"type": "object", "propertyNames": {"enum": words}},
    ]


@pytest.mark.parametrize("number", range(6))
def test_the_time_for_an_enumeration_grows_with_its_length(number: int) -> None:
    seconds: dict[int, float] = {}
    for count in (500, 8000):
        taken = []
        for start in (0, 10_000, 20_000):  # none of them is remembered
            source = json.dumps(_enumerations(count, start)[number])
            before = time.process_time()
            check_schema(source)
            taken.append(time.process_time() - before)
        seconds[count] = min(taken)
    assert seconds[8000] < 64 * seconds[500]  # 256 times if each member met all others


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a{5}$", "maxLength": 3},
        {"type": "string", "pattern": "^(ab|c)?$", "minLength": 3},
        {"type": "string", "format": "uuid", "maxLength": 35},
        {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]},
        {"type": "string", "pattern": "^x", "format": "ipv4"},
    ],
)
def test_patterns_and_lengths_that_exclude_each_other_leave_no_value(schema: dict[str, Any]) -> None:
    assert "No value satisfies" in refused(json.dumps(schema)).cause
    other = check_schema(json.dumps({"type": "object", "properties": {"a": schema}, "minProperties": 0}))
    assert other.schema["properties"] == {"a": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a{5}$", "maxLength": 5},
        {"type": "string", "pattern": "^(ab|c)+$", "minLength": 3},
        {"type": "string", "pattern": "a", "maxLength": 1},
        {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]},
    ],
)
def test_patterns_and_lengths_that_agree_are_left_as_they_are(schema: dict[str, Any]) -> None:
    assert check_schema(json.dumps(schema)).schema["type"] == "string"


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({"type": "string", "maxLength": 10**20}, {"type": "string"}),
        ({"type": "string", "maxLength": 10**9}, {"type": "string", "maxLength": 10**9}),
    ],
)
def test_no_answer_is_as_long_as_the_largest_bounds(schema: dict[str, Any], form: dict[str, Any]) -> None:
    assert check_schema(json.dumps(schema)).schema == form


def test_more_members_than_any_answer_has_are_no_bound() -> None:
    assert "maxProperties" not in check_schema('{"type": "object", "maxProperties": 1e20}').schema


def test_a_least_length_that_is_not_counted_is_refused() -> None:
    assert "#/minLength" in refused('{"type": "string", "minLength": 1e20}').cause


@pytest.mark.parametrize(
    "name", ["http://example.com/x", "", "draft-07", "http://json-schema.org/draft-99/schema#"]
)
def test_an_unknown_draft_is_refused_or_named(name: str) -> None:
    source = json.dumps({"$schema": name, "items": [{"type": "null"}]})
    assert "#/$schema: " in refused(source).cause
    assert repr(name) in refused(source).cause
    prepared = check_schema(source, weaken=True)
    assert any(message.startswith("#/$schema: ") for message in prepared.weakened)


@pytest.mark.parametrize(
    "name", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema"]
)
def test_a_draft_is_known_however_its_address_is_spelt(name: str) -> None:
    schema = json.dumps({"$schema": name, "items": [{"type": "null"}], "additionalItems": False})
    assert check_schema(schema).weakened == ()
    assert violations("[null, 1]", schema)


@pytest.mark.parametrize(
    "name", ["http://json-schema.org/schema#", "https://json-schema.org/draft/2020-12/schema#"]
)
def test_the_newest_draft_has_several_names(name: str) -> None:
    schema = json.dumps({"$schema": name, "prefixItems": [{"type": "null"}]})
    assert violations("[1]", schema)
    assert check_schema(schema).weakened == ()


@pytest.mark.parametrize("source", ["null", "3", '"string"', "[]", '{"$schema": {}}'])
def test_what_is_json_and_no_schema_is_called_malformed(source: str) -> None:
    assert "malformed at #" in refused(source).cause
    assert "malformed at #" in violations("1", source)[0]
