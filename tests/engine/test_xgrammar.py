"""What our EBNF for xgrammar does by itself: numbers, strings under several conditions, names, limits."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.grammar_vocabulary import GrammarVocabulary
from velospec.constraints.schema import check_schema
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar, GrammarKind

pytest.importorskip("xgrammar", reason="xgrammar is not installed")

from velospec.constraints import xgrammar

ENGINE = xgrammar.XgrammarEngine(GrammarVocabulary())


def acceptor(schema: dict[str, Any]) -> Callable[[str], bool]:
    """Whether a text is complete JSON for `schema`."""
    compiled = ENGINE.compile(Grammar(GrammarKind.JSON_SCHEMA, json.dumps(schema)))

    def accepts(text: str) -> bool:
        matcher = compiled.matcher()
        return all(map(matcher.accept, text.encode())) and matcher.accepting

    return accepts


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


HOLDS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
    "multipleOf": lambda value, factor: value % factor == 0,
}

bounds = st.one_of(st.integers(-1200, 1200), st.decimals(-150, 150, places=2).map(float))
numbers = st.one_of(st.integers(-1300, 1300).map(Decimal), st.decimals(-160, 160, places=3))


@settings(max_examples=50, deadline=None)
@given(
    schema=st.fixed_dictionaries(
        {"type": st.sampled_from(["number", "integer"])},
        optional={
            "minimum": bounds,
            "exclusiveMinimum": bounds,
            "maximum": bounds,
            "exclusiveMaximum": bounds,
            "multipleOf": st.sampled_from([1, 2, 7, 10, 25, 0.5, 0.25, 0.01, 1.5]),
        },
    ),
    tried=st.lists(numbers, min_size=20, max_size=40),
)
def test_numbers_are_those_within_bounds_and_of_the_factor(
    schema: dict[str, Any], tried: list[Decimal]
) -> None:
    try:
        accepts = acceptor(schema)
    except GrammarError:
        assume(condition=False)
    near = [Decimal(repr(value)) for key, value in schema.items() if key != "type"]
    steps = [Decimal(text) for text in ("0", "0.001", "-0.001", "1", "-1")]
    for value in [*tried, *(edge + step for edge in near for step in steps)]:
        text = f"{value:f}"
        if schema["type"] == "integer" and "." in text:
            assert not accepts(text)
        elif value or not text.startswith("-"):
            assert accepts(text) == in_range(value, schema), text


def in_range(value: Decimal, schema: dict[str, Any]) -> bool:
    limits = {key: Decimal(repr(limit)) for key, limit in schema.items() if key != "type"}
    return all(HOLDS[key](value, limit) for key, limit in limits.items())


@pytest.mark.parametrize(
    "pattern", ["^[a-c]+( b)?$", "b", '^"\\\\|\\n', "^(ab|é{2,4}|😀)*$", "^[^a]*$", "^(a*b)*$"]
)
@pytest.mark.parametrize("length", [{}, {"maxLength": 4}, {"minLength": 2}, {"minLength": 2, "maxLength": 3}])
@settings(max_examples=8, deadline=None)
@given(tried=st.lists(st.text(alphabet='abc é😀"\\\n\x7f', max_size=6), min_size=20, max_size=40))
def test_a_string_obeys_its_pattern_and_its_length(
    pattern: str, length: dict[str, int], tried: list[str]
) -> None:
    accepts = acceptor({"type": "string", "pattern": pattern, **length})
    least, most = length.get("minLength", 0), length.get("maxLength", 99)
    for text in tried:
        wanted = re.search(pattern.replace("$", r"\Z"), text) is not None and least <= len(text) <= most
        assert accepts(quoted(text)) == wanted, text


def test_two_patterns_hold_at_once() -> None:
    accepts = acceptor(
        {"allOf": [{"type": "string", "pattern": "^[ab]*$"}, {"pattern": "^(..)*$"}, {"pattern": "b"}]}
    )
    assert accepts('"abaa"')
    assert not any(map(accepts, ['"aba"', '"aaaa"', '"abac"', '""']))


def test_a_name_with_a_schema_of_its_own_is_not_taken_for_another() -> None:
    by_pattern = acceptor({
        "type": "object",
        "properties": {"x-a": {"maxLength": 2}},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": False,
    })  # fmt: skip
    assert by_pattern('{"x-a": "12", "x-ab": "123", "x-": "123"}')
    assert not any(map(by_pattern, ['{"x-a": "123"}', '{"x-b": "1", "x-a": "123"}', '{"y": "1"}']))
    beside = acceptor({
        "type": "object",
        "properties": {"name": {"type": "integer"}, "n": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    })  # fmt: skip
    assert beside('{"name": 1, "c": true, "na": true, "names": false, "": true, "é\\"": true}')
    assert not any(
        map(beside, ['{"name": true}', '{"n": 1, "name": true}', '{"c": true, "n": true}', '{"c": 1}'])
    )


def test_members_stand_in_order_and_the_count_of_others_is_held() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "minProperties": 3,
        "maxProperties": 4,
    }
    accepts = acceptor(schema)
    assert accepts('{"a": 1, "b": 2, "c": 3}')
    assert accepts('{"a": 1, "b": 2, "c": 3, "d": []}')
    assert not any(
        map(
            accepts,
            ['{"a": 1, "b": 2}', '{"b": 2, "a": 1, "c": 3}', '{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}'],
        )
    )


@pytest.mark.parametrize("count", [1, 40, 300])
def test_any_of_many_optional_members_may_be_left_out(count: int) -> None:
    schema = {
        "type": "object",
        "properties": {f"p{number}": {"type": "integer"} for number in range(count)},
        "additionalProperties": False,
    }
    accepts = acceptor(schema)
    chosen = list(range(0, count, 7))
    assert accepts("{}")
    assert accepts("{" + ", ".join(f'"p{number}": {number}' for number in chosen) + "}")
    assert accepts(f'{{"p{count - 1}": 1}}')
    assert not accepts(f'{{"p{count - 1}": 1, "p{count - 1}": 1}}')
    assert not accepts(f'{{"p{count}": 1}}')


@pytest.mark.parametrize(
    "value", [{"a": [1, None, {}]}, [[], "é\n"], "ü\x7fab", 1.5, -0.25, True, None, "\u2028"]
)
def test_enumerated_values_stand_as_they_are(value: object) -> None:
    accepts = acceptor({"enum": [value, "other"]})
    assert accepts(json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f"))
    assert accepts('"other"')
    assert not accepts("0")


def test_conditions_that_take_too_many_states_together_are_refused_by_name() -> None:
    schema = {"type": "string", "format": "uri", "maxLength": 3000}
    assert check_schema(json.dumps(schema))
    with pytest.raises(GrammarError, match="too much for xgrammar") as refused:
        acceptor(schema)
    assert "llguidance" in refused.value.remedy
