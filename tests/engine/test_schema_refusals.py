"""What of a JSON Schema is refused: by name, with its JSON pointer, and never silently left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from velospec.constraints.schema import check_schema
from velospec.constraints.validation import violations
from velospec.core.errors import GrammarError

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
REFUSED: dict[str, tuple[Any, str]] = {  # schema, and where the refusal points to
    "unique items": ({"type": "array", "uniqueItems": True}, '#/uniqueItems: "uniqueItems" is not enforced'),
    "contains": ({"properties": {"a/b": {"type": "array", "contains": {}}}}, "#/properties/a~1b/contains"),
    "unevaluated": ({"type": "object", "unevaluatedProperties": False}, "#/unevaluatedProperties"),
    "dynamic": ({"$defs": {"a": {"$dynamicRef": "#a"}}, "$ref": "#/$defs/a"}, "#/$defs/a/$dynamicRef"),
    "look-ahead": ({"items": {"type": "string", "pattern": "^(?!a)"}}, "#/items/pattern"),
    "back-reference": ({"type": "string", "pattern": r"(a)\1"}, "#/pattern"),
    "word boundary": ({"type": "string", "pattern": r"\ba"}, "#/pattern"),
    "patterned names": ({"type": "object", "patternProperties": {"(?=a)": {}}}, "#/patternProperties"),
    "names of a kind": ({"type": "object", "propertyNames": {"anyOf": [{}]}}, "#/propertyNames"),
    "overlap": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "#/oneOf: "),
    "opposite": ({"not": {"items": {"type": "string"}}}, "#/not: "),
    "condition": ({"if": {"items": {"const": 1}}, "then": {"minItems": 2}}, "#/if: "),
    "two members": ({"type": "object", "minProperties": 2}, "#/minProperties"),
    "number left out": ({"type": "integer", "not": {"const": 5}}, "#/not/enums: "),
    "remote reference": ({"$ref": "https://example.org/a.json"}, '#/$ref: "https://example.org/a.json"'),
    "lost reference": ({"properties": {"a": {"$ref": "#/$defs/a"}}}, "#/properties/a/$ref"),
    "large bound": ({"type": "integer", "maximum": 2**60}, "#/maximum"),
    "large constant": ({"const": 2**60}, "#: "),
    "many combinations": (
        {"allOf": [{"anyOf": [{"required": [f"{a}{b}"]} for b in range(4)]} for a in range(6)]},
        "#: ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_the_keyword_and_its_place(case: str) -> None:
    schema, where = REFUSED[case]
    with pytest.raises(GrammarError) as refused:
        check_schema(json.dumps(schema))
    assert where in refused.value.cause
    assert refused.value.remedy


@pytest.mark.parametrize("case", [case for case in REFUSED if case != "many combinations"])
def test_a_weakened_schema_says_what_it_leaves_out(case: str) -> None:
    schema, where = REFUSED[case]
    prepared = check_schema(json.dumps(schema), weaken=True)
    assert any(where in message for message in prepared.weakened)


def test_a_weakened_schema_allows_all_that_it_did() -> None:
    schema = {"type": "object", "patternProperties": {"(?=a)": {"type": "null"}}, "minProperties": 2}
    form = check_schema(json.dumps(schema), weaken=True).schema
    assert not violations('{"a": null, "b": 1}', json.dumps(form))


def test_a_schema_that_can_be_enforced_leaves_nothing_out() -> None:
    assert check_schema('{"type": "array", "items": {"minimum": 3}}', weaken=True).weakened == ()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ('{"type": ', "line 1 column 10"),
        ('{"type": "text"}', "#/type"),
        ('{"properties": {"a": {"minLength": -1}}}', "#/properties/a/minLength"),
        ('{"$schema": "http://json-schema.org/draft-03/schema#", "type": "any"}', "draft 3"),
        ('{"type": "string", "minLength": 3, "maxLength": 2}', "No value"),
        ('{"enum": [1], "type": "string"}', "No value"),
        ('{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}', "No value"),
        ("false", "No value"),
    ],
)
def test_what_is_no_usable_schema_is_refused(source: str, says: str) -> None:
    with pytest.raises(GrammarError, match="JSON Schema") as refused:
        check_schema(source)
    assert says in refused.value.cause


@pytest.mark.parametrize(
    "schema",
    [
        {"uniqueItems": True, "type": "string"},
        {"uniqueItems": False, "type": "array"},
        {"uniqueItems": True, "type": "array", "maxItems": 1},
        {"type": "array", "uniqueItems": True, "enum": [[1], [1, 1]]},
        {"contains": {"const": 1}, "enum": [[1], [2]]},
        {"unevaluatedProperties": True},
        {"$schema": DRAFT_7, "type": "array", "minContains": 2, "unevaluatedItems": False},
    ],
)
def test_what_says_nothing_is_not_refused(schema: Any) -> None:
    assert check_schema(json.dumps(schema)).weakened == ()


def test_values_of_an_enumeration_are_tried_by_every_keyword() -> None:
    schema = {"uniqueItems": True, "contains": {"const": 1}, "enum": [[1], [1, 1], [2], [2, 1], "a"]}
    assert check_schema(json.dumps(schema)).schema == {"enum": [[1], [2, 1], "a"]}


@pytest.mark.parametrize("chain", [50, 400])
def test_long_chains_of_references_are_no_trouble(chain: int) -> None:
    steps = {
        f"s{number}": {"type": "object", "properties": {"n": {"$ref": f"#/$defs/s{number + 1}"}}}
        for number in range(chain)
    }
    schema = {"$defs": {**steps, f"s{chain}": {"type": "null"}}, "$ref": "#/$defs/s0"}
    assert len(check_schema(json.dumps(schema)).schema["$defs"]) >= chain - 2


def test_alternatives_that_refer_to_each_other_come_to_an_end() -> None:
    """Whether branches exclude each other is asked of each pair, and so of each pair in those."""
    kinds = range(7)
    definitions = {
        f"d{kind}": {
            "oneOf": [
                {"type": "object", "required": ["x"], "properties": {"x": {"$ref": f"#/$defs/d{other}"}}}
                for other in kinds
            ]
            + [{"type": "null"}]
        }
        for kind in kinds
    }
    prepared = check_schema(json.dumps({"$defs": definitions, "$ref": "#/$defs/d0"}), weaken=True)
    assert any("/oneOf: " in message for message in prepared.weakened)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"\Aa", r"\A has no meaning"),
        (r"a\b", "edge of a word"),
        (r"(a)\1", r"\1 refers back"),
        (r"(?<n>a)\k<n>", r"\k refers back"),
        ("a\\", "ends in a backslash"),
        ("[]", "no character"),
        (r"^\ud800$", "half of a surrogate pair"),
    ],
)
def test_why_a_pattern_is_not_enforced_is_told_in_words(pattern: str, says: str) -> None:
    with pytest.raises(GrammarError) as refused:
        check_schema(json.dumps({"type": "string", "pattern": pattern}))
    assert says in refused.value.cause
    assert refused.value.remedy == "Take it out of the schema, and check the answer for it."
