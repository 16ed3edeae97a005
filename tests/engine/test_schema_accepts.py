"""What the grammar of a JSON Schema accepts and refuses, by both engines: keyword by keyword."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from tests.support.grammar_vocabulary import GrammarVocabulary
from tests.support.schema_cases import CASES, CLOSED
from tests.support.schema_engines import ENGINES, grammar_engine
from tests.support.schema_instances import comparable
from tests.support.vocabularies import vocabulary
from velospec.constraints.schema import check_schema
from velospec.constraints.validation import Judge
from velospec.core.grammar import Grammar, GrammarKind, Whitespace

VOCABULARY = GrammarVocabulary()


def reach(engine: str, schema: Any, text: str, whitespace: Whitespace = Whitespace.SPACED) -> str:
    """Whether `text` is taken, may go on but not end, or is refused."""
    compiled = grammar_engine(engine, VOCABULARY).compile(
        Grammar(GrammarKind.JSON_SCHEMA, json.dumps(schema), whitespace)
    )
    matcher = compiled.matcher()
    if not all(matcher.accept(token) for token in VOCABULARY.encode(text)):
        return "refused"
    return "accepted" if matcher.accepting else "open"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_a_keyword_means_what_it_says(case: str, engine: str) -> None:
    schema, accepted, refused = CASES[case]
    assert {text: reach(engine, schema, text) for text in accepted.split("  ")} == dict.fromkeys(
        accepted.split("  "), "accepted"
    )
    for text in refused.split("  "):
        assert reach(engine, schema, text) != "accepted", text


@pytest.mark.parametrize("engine", ENGINES)
def test_an_enumeration_of_1000_members(engine: str) -> None:
    members = [f"v{number}" for number in range(1000)]
    compiled = grammar_engine(engine, VOCABULARY).compile(
        Grammar(GrammarKind.JSON_SCHEMA, json.dumps({"enum": members}))
    )
    for text, wanted in [
        *((json.dumps(member), True) for member in members),
        ('"v1000"', False),
        ('"v"', False),
    ]:
        matcher = compiled.matcher()
        taken = all(matcher.accept(token) for token in VOCABULARY.encode(text)) and matcher.accepting
        assert taken == wanted, text


@pytest.mark.parametrize("engine", ENGINES)
def test_an_emoji_split_over_tokens_counts_as_one_character(engine: str) -> None:
    schema = json.dumps({"type": "string", "pattern": "^[😀-😏]$"})
    compiled = grammar_engine(engine, VOCABULARY).compile(Grammar(GrammarKind.JSON_SCHEMA, schema))
    for split in (
        (b'"', b"\xf0\x9f", b"\x98\x80", b'"'),
        (b'"\xf0\x9f\x98', b"\x80", b'"'),
        (b'"', b"\xf0", b"\x9f\x98", b"\x80", b'"'),
    ):
        matcher = compiled.matcher()
        ids = [next(t for t in range(VOCABULARY.size) if VOCABULARY.piece(t) == piece) for piece in split]
        assert [matcher.accept(token) for token in ids] == [True] * len(ids)
        assert matcher.accepting
    matcher = compiled.matcher()
    assert matcher.valid(VOCABULARY.encode('"é"')) < len(VOCABULARY.encode('"é"'))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ["anything", "emoji", "inverse class", "one of several", "recursion"])
def test_a_real_tokenizer_makes_no_difference(case: str, engine: str) -> None:
    real = vocabulary("starcoder")
    schema, accepted, refused = CASES[case]
    compiled = grammar_engine(engine, real).compile(Grammar(GrammarKind.JSON_SCHEMA, json.dumps(schema)))
    for text in [*accepted.split("  "), *refused.split("  ")]:
        matcher = compiled.matcher()
        taken = all(matcher.accept(token) for token in real.encode(text)) and matcher.accepting
        assert taken == (text in accepted.split("  ")), text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("whitespace", "accepted", "refused"),
    [
        (Whitespace.SPACED, '{"a": [1, 2]}', '{"a":[1,2]}'),
        (Whitespace.COMPACT, '{"a":[1,2]}', '{"a": [1, 2]}'),
        (Whitespace.FLEXIBLE, '{ "a" :\n  [1,2 ]}', '{"a" [1]}'),
    ],
)
def test_whitespace_is_as_asked_for(engine: str, whitespace: Whitespace, accepted: str, refused: str) -> None:
    schema = {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}, **CLOSED}
    assert reach(engine, schema, accepted, whitespace) == "accepted"
    assert reach(engine, schema, refused, whitespace) == "refused"


@pytest.mark.parametrize("case", CASES)
def test_the_normal_form_has_the_instances_of_the_schema(case: str) -> None:
    schema, accepted, refused = CASES[case]
    form = Judge(comparable(check_schema(json.dumps(schema)).schema))
    judge = Judge(comparable(schema))
    for text in [*accepted.split("  "), *refused.split("  ")]:
        with suppress(ValueError):  # some of the refused are no JSON
            value = json.loads(text)
            assert bool(form.errors(value)) == bool(judge.errors(value)), text
