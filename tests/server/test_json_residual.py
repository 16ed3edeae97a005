"""What is left of a schema at a place: what it allows by the grammar engine is what may follow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.json_positions import DOCUMENTS, SCHEMAS
from velospec.constraints.compiler import GrammarCompiler
from velospec.core.errors import GrammarError
from velospec.core.grammar import Grammar, GrammarKind, Whitespace
from velospec_lsp.json_schema.place import place_of
from velospec_lsp.json_schema.residual import NothingFitsError, residual

VOCABULARY = GrammarVocabulary()
COMPILER = GrammarCompiler(VOCABULARY)


def read(root: dict[str, Any], code: str, text: str) -> tuple[int, bool]:
    """How much of `text` is allowed at ^, and whether the whole is complete then."""
    place = place_of(*code.split("^"))
    assert place is not None
    left = residual(root, place)
    grammar = Grammar(GrammarKind.JSON_SCHEMA, left.source, Whitespace.FLEXIBLE, left.after)
    cursor = COMPILER.start(grammar)
    count = 0
    for byte in text.encode():
        [token] = [token for token in range(256) if VOCABULARY.piece(token) == bytes((byte,))]
        if not cursor.allows((), token):
            break
        cursor.advance((token,))
        count += 1
    return len(text.encode()[:count].decode(errors="ignore")), cursor.accepting


def in_schema_order(name: str) -> str:
    """The document of that schema, its members in the schema's order, as the engines want them."""
    schema, text = DOCUMENTS[name]
    value = json.loads(text)

    def ordered(node: Any, root: dict[str, Any]) -> Any:
        if isinstance(node, dict):
            order = [*root.get("properties", {})]
            node = {
                key: node[key] for key in sorted(node, key=lambda k: order.index(k) if k in order else 99)
            }
            return {
                key: ordered(value, root.get("properties", {}).get(key, {})) for key, value in node.items()
            }
        return [ordered(item, {}) for item in node] if isinstance(node, list) else node

    return json.dumps(ordered(value, SCHEMAS[schema]), indent=2)


@pytest.mark.parametrize("name", ["package.json", "compiler.json"])
def test_the_rest_of_a_valid_document_is_allowed_at_every_place(name: str) -> None:
    text = in_schema_order(name)
    for cut in range(0, len(text), 11):
        assert read(SCHEMAS[DOCUMENTS[name][0]], text[:cut] + "^", text[cut:]) == (len(text) - cut, True), cut


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "mail": {"type": "string"},
        "boss": {"$ref": "#/$defs/person"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TEAM = {
    "$defs": {"person": PERSON},
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "lead": {"$ref": "#/$defs/person"},
        "people": {"type": "array", "items": {"$ref": "#/$defs/person"}, "maxItems": 3},
        "place": {"prefixItems": [{"type": "number"}, {"type": "number"}], "items": {"enum": ["north"]}},
        "state": {
            "oneOf": [
                {"properties": {"kind": {"const": "on"}, "since": {"type": "string"}}, "required": ["kind"]},
                {
                    "properties": {"kind": {"const": "off"}, "until": {"type": "integer"}},
                    "required": ["kind"],
                },
            ]
        },
    },
    "patternProperties": {"^x-": {"type": "boolean"}},
    "required": ["id", "lead"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("code", "text", "allowed"),
    [
        # whatever the order before the cursor
        ('{"people": [], "id": 1, ^', '"lead": {', 9),
        # no key twice, before or behind the cursor
        ('{"id": 1, ^', '"id', 1),
        ('{^, "id": 1}', '"id', 1),
        ('{"id": 1, "lead": {"name": "a"}, "x-a": true, ^', '"x-a": ', 4),
        ('{"id": 1, "lead": {"name": "a"}, "x-a": true, ^', '"x-b": true', 11),
        # required keys come before the end, unless they follow
        ('{"lead": {"name": "a"}^', "}", 0),
        ('{"lead": {"name": "a"}^, "id": 1}', "}", 1),
        ('{"lead": {^', "}", 0),
        # half a key
        ('{"le^', 'ad": {', 6),
        ('{"le^', 'ft": {', 0),
        ('{"p^', "laces", 4),
        ('{"p^', "eople", 5),
        # values
        ('{"id": ^', '"', 0),
        ('{"id": 1^', "2", 1),
        ('{"id": 1^', ".", 0),
        ('{"lead": {"boss": {"mail": "^', 'm", "name": "n"}', 16),
        # arrays
        ('{"people": [{"name": "a"}, {"name": "b"}^', ', {"name": "c"}', 15),
        ('{"place": [1, 2^', ', "north", "n', 13),
        ('{"place": [1^', ', "', 2),
        # the alternative that the members before, or behind, belong to
        ('{"state": {"kind": "off", ^', '"until": 1', 10),
        ('{"state": {"kind": "off", ^', '"since": "a"', 12),  # any key: the objects are open
        ('{"state": {^, "kind": "on"}}', '"since": 1', 9),
        # a mistake elsewhere does not matter
        ('{"wrong": 1, "state": {"kind": ^', '"of', 3),
        ('{"wrong": 1, "state": {"kind": ^', '"x', 1),
        # blanks and comments before the document
        ('\n// x\n{"id": ^', "1", 1),
    ],
)
def test_what_may_follow(code: str, text: str, allowed: int) -> None:
    assert read(TEAM, code, text)[0] == allowed


def test_long_documents_are_not_read_by_the_engine() -> None:
    people = ", ".join('{"name": "somebody"}' for _ in range(2000))
    place = place_of('{"id": 1, "place": [' + people + ", ", "")
    assert place is not None
    left = residual({}, place)
    assert len(left.after) < 200
    assert len(left.source) < 2000


@pytest.mark.parametrize("code", ['{"wrong": ^', '{"id": [^', '{"lead": {"x": {^'])
def test_a_place_that_the_schema_forbids(code: str) -> None:
    place = place_of(*code.split("^"))
    assert place is not None
    with pytest.raises(NothingFitsError):
        residual(TEAM, place)


def test_large_schemas_are_told_as_far_as_a_grammar_goes() -> None:
    leaf = {"type": "object", "properties": {f"k{n}": {"type": "string"} for n in range(9)}}
    wide = {"type": "object", "properties": {f"m{n}": leaf for n in range(30)}}
    schema = {
        "type": "object",
        "properties": {f"p{n}": wide for n in range(9)},
        "additionalProperties": False,
    }
    place = place_of("{", "}")
    assert place is not None
    assert len(residual(schema, place).source) < 20_000
    assert read(schema, '{"p1": ^', '{"m1": {"k1": 1') == (15, False)  # not told so deep
    assert read(schema, '{"p1": ^', "[") == (0, False)
    assert read(schema, '{"p1": {"m1": {^', '"k1": 1') == (6, False)
    endless = {
        "$defs": {"n": {"properties": {f"n{i}": {"$ref": "#/$defs/n"} for i in range(5)}}},
        "$ref": "#/$defs/n",
    }
    assert len(residual(endless, place).source) < 20_000


def test_what_no_engine_enforces_is_left_to_the_last_look() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"not": {"const": 1}, "pattern": "^(?!x)", "uniqueItems": True, "format": "odd"}},
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
    }
    assert read(schema, '{"a": ^', "1}") == (2, True)
    with pytest.raises(GrammarError):
        COMPILER.start(Grammar(GrammarKind.JSON_SCHEMA, json.dumps(schema)))
