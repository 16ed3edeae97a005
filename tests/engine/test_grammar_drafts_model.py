"""Drafts under a grammar on the real model: they take fewer steps, and no part in the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from velospec import CancelToken, Engine, InstalledModel, Limits, TextRequest
from velospec.core.grammar import Grammar, GrammarKind, Whitespace
from velospec.core.request import Completion
from velospec.core.statistics import Statistics
from velospec.drafting import PROPOSERS, Drafting

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

ORDER = {
    "type": "object",
    "properties": {
        "name": {"const": "place_order"},
        "arguments": {
            "type": "object",
            "properties": {
                "product": {"type": "string", "maxLength": 30},
                "amount": {"type": "integer", "minimum": 1, "maximum": 999},
                "unit": {"enum": ["piece", "box", "pallet"]},
                "colours": {"type": "array", "items": {"enum": ["red", "green", "grey"]}, "maxItems": 3},
                "express": {"type": "boolean"},
            },
            "required": ["product", "amount", "unit"],
            "additionalProperties": False,
        },
    },
    "required": ["name", "arguments"],
    "additionalProperties": False,
}
POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
}
GRAMMARS = {
    "order": Grammar(GrammarKind.JSON_SCHEMA, json.dumps(ORDER)),
    "flexible": Grammar(GrammarKind.JSON_SCHEMA, json.dumps(ORDER), Whitespace.FLEXIBLE),
    "points": Grammar(GrammarKind.JSON_SCHEMA, json.dumps({"type": "array", "items": POINT, "maxItems": 4})),
    "json": Grammar(GrammarKind.JSON),
    # Characters that the vocabulary, or the model by itself, cuts into tokens of part of one.
    "letters": Grammar(GrammarKind.JSON_SCHEMA, json.dumps({"const": 17 * "é" + "ß漢字" + 2 * "👩‍👩‍👧‍👦"})),
    "endings": Grammar(GrammarKind.JSON_SCHEMA, json.dumps({"enum": ["größe ä", "größe ö", "größe ü"]})),
    "regex": Grammar(GrammarKind.REGEX, "order: [0-9]{1,3} (boxes|pallets) of [a-z ]{3,20}"),
}
PROMPT = (
    'An order as JSON, such as {"name": "place_order", "arguments": {"product": "Bolt", "amount": 12}}.\n'
    "The customer wants 25 boxes of Steel Screws in grey, express.\n"
)
TOKENS = 60


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model, remember=False)
    if engine.profile is None:
        engine.measure()
    assert engine.numerics.exact, engine.numerics.reason
    yield engine
    engine.close()


def answer(engine: Engine, name: str, *, speculate: bool) -> Completion:
    request = TextRequest("doc", PROMPT, Limits(max_tokens=TOKENS), grammar=GRAMMARS[name])
    return engine.generate(replace(request, speculate=speculate), CancelToken())


@pytest.fixture(scope="module")
def plain(engine: Engine) -> dict[str, Completion]:
    return {name: answer(engine, name, speculate=False) for name in GRAMMARS}


@pytest.mark.parametrize(
    "wanted", [{"forced"}, {"grammar_state"}, set(PROPOSERS)], ids=["forced", "grammar_state", "all"]
)
def test_ids_are_those_without_drafts(engine: Engine, plain: dict[str, Completion], wanted: set[str]) -> None:
    engine.use_drafting(Drafting(proposers=frozenset(wanted)))
    total = Statistics()
    for _ in range(2):  # the second time with what was counted
        for name, expected in plain.items():
            done = answer(engine, name, speculate=True)
            assert (done.token_ids, done.text, done.finish) == (
                expected.token_ids,
                expected.text,
                expected.finish,
            )
            total += done.statistics
    assert total.accepted_tokens > total.new_tokens / 4
    assert total.steps < total.new_tokens * 3 / 4


def test_the_verifier_alone_knows_the_grammar_where_drafts_are_not_cut(
    engine: Engine, plain: dict[str, Completion]
) -> None:
    engine.use_drafting(Drafting(grammar_trims=False))
    done = answer(engine, "order", speculate=True)
    assert done.token_ids == plain["order"].token_ids
    assert not {"forced", "grammar_state"} & set(done.statistics.proposers)
