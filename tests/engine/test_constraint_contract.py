"""What every grammar engine does alike: masks, moves, exact returns, forced text and ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.grammar_cases import (
    GRAMMARS,
    TEXTS,
    VOCABULARY,
    accepts,
    allowed,
    compiled,
    compiler,
    is_prefix,
    schema,
    seen,
    spellings,
    taken,
)
from tests.support.schema_engines import ENGINES
from tests.support.vocabularies import vocabulary
from velospec.constraints.compiler import GrammarCompiler
from velospec.constraints.matcher import Matcher
from velospec_kernels.bitmask import pack


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    compiler(request.param)
    return str(request.param)


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_the_mask_is_what_accept_takes_at_every_place(engine: str, name: str, text: str) -> None:
    for ids in spellings(text):
        matcher = compiled(engine, name).matcher()
        for token in ids:
            assert allowed(matcher) == taken(matcher)
            assert matcher.accept(token)
        assert allowed(matcher) == taken(matcher)
        assert matcher.accepting


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_both_engines_allow_the_same_at_every_place(name: str, text: str) -> None:
    for ids in spellings(text):
        first, second = (compiled(engine, name).matcher() for engine in ENGINES)
        for token in [*ids, None]:
            assert allowed(first) == allowed(second)
            assert (first.accepting, first.stopped) == (second.accepting, second.stopped)
            # xgrammar tells whole characters only.
            assert first.forced().startswith(second.forced())
            if token is not None:
                assert first.accept(token)
                assert second.accept(token)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(GRAMMARS)),
    choices=st.lists(st.integers(0, 10_000), min_size=1, max_size=25),
    back=st.integers(0, 25),
)
def test_going_back_leads_to_the_same_place(engine: str, name: str, choices: list[int], back: int) -> None:
    matcher = compiled(engine, name).matcher()
    places, ids = [seen(matcher)], []
    for choice in choices:
        options = sorted(allowed(matcher))
        if not options:
            break
        ids.append(options[choice % len(options)])
        assert matcher.accept(ids[-1])
        places.append(seen(matcher))
    count = min(back, len(ids))
    matcher.rollback(count)
    assert seen(matcher) == places[len(ids) - count]
    for step in range(len(ids) - count, len(ids)):
        assert matcher.accept(ids[step])
        assert seen(matcher) == places[step + 1]


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_valid_counts_up_to_the_first_id_refused_and_does_not_move(engine: str, name: str, text: str) -> None:
    matcher = compiled(engine, name).matcher()
    ids = VOCABULARY.encode(text)
    for place, token in enumerate(ids):
        before = seen(matcher)
        wrong = next(iter(set(range(VOCABULARY.size)) - allowed(matcher) - VOCABULARY.end_ids))
        assert matcher.valid(ids[place:]) == len(ids) - place
        assert matcher.valid([wrong, token]) == 0
        if place + 1 < len(ids):
            assert matcher.valid([token, VOCABULARY.mark("<|pad|>"), *ids[place + 1 :]]) == 1
        assert seen(matcher) == before
        assert not matcher.accept(wrong)
        assert seen(matcher) == before
        matcher.accept(token)


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_forced_text_is_all_that_may_come(engine: str, name: str, text: str) -> None:
    for ids in spellings(text):
        matcher = compiled(engine, name).matcher()
        for token in ids:
            check_forced(matcher)
            matcher.accept(token)
        check_forced(matcher)


def check_forced(matcher: Matcher) -> None:
    forced = matcher.forced()
    for place in range(len(forced)):
        assert not matcher.accepting
        for piece in map(VOCABULARY.piece, allowed(matcher)):
            rest = forced[place:]
            assert piece
            assert rest.startswith(piece) or piece.startswith(rest)
        assert matcher.accept(forced[place])
    matcher.rollback(len(forced))


@pytest.mark.parametrize(("name", "place", "forced"), [
    ("an object", "", b'{"name": "'),
    ("an object", '{"n', b'ame": "'),
    ("an object", '{"name": "a", ', b'"age": '),
    ("an object", '{"name": "a", "age": 1, "tags": ["gr', b'een"'),
    ("an object", '{"name": "a", "age": 1}', b""),
    ("compact", '{"name":"a",', b'"age":'),
    ("flexible", "", b"{"),
    ("text and calls", "the <tool_call>", b'\n{"name": "'),
    ("text and calls", '<tool_call>\n{"name": "f', b'", "arguments": {"x": '),
    ("text and calls", "the", b""),
    ("calls", "", b'<tool_call>\n{"name": "'),
])  # fmt: skip
def test_what_leaves_no_choice_is_forced(engine: str, name: str, place: str, forced: bytes) -> None:
    matcher = compiled(engine, name).matcher(place.encode())
    assert matcher.forced() == forced


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_every_end_token_is_allowed_where_the_text_may_end_and_nowhere_else(
    engine: str, name: str, text: str
) -> None:
    constraint = compiler(engine).start(GRAMMARS[name])
    matcher = compiled(engine, name).matcher()
    for token in [*VOCABULARY.encode(text), None]:
        ids = set(constraint.allowed([]).tolist())
        ends = VOCABULARY.end_ids if matcher.accepting else frozenset()
        assert ids & VOCABULARY.end_ids == ends
        assert all(constraint.allows([], end) == bool(ends) for end in VOCABULARY.end_ids)
        assert constraint.complete == matcher.stopped
        if token is not None:
            constraint.advance([token])
            matcher.accept(token)
    constraint.advance([max(VOCABULARY.end_ids)])
    assert constraint.complete


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_no_text_becomes_a_control_token(engine: str, name: str, text: str) -> None:
    matcher = compiled(engine, name).matcher()
    for token in VOCABULARY.encode(text):
        assert not allowed(matcher) & VOCABULARY.control_ids
        assert not any(map(matcher.accept, VOCABULARY.control_ids - VOCABULARY.end_ids))
        matcher.accept(token)


def test_text_may_spell_the_name_of_a_control_token(engine: str) -> None:
    assert accepts(compiled(engine, "any JSON").matcher(), '"<|tool|> [CALL] <end>"')
    assert accepts(compiled(engine, "text and calls").matcher(), "<|tool|> [CALL] <end>")


def test_cursors_of_one_grammar_do_not_touch_each_other(engine: str) -> None:
    grammar = compiled(engine, "an object")
    first, second = grammar.matcher(), grammar.matcher()
    before = seen(second)
    assert is_prefix(first, '{"name": "a", ')
    assert seen(second) == before
    there = seen(first)
    assert is_prefix(second, '{"name": "')
    second.rollback(3)
    assert seen(first) == there


CHARACTERS = ["é", "日", "😀", "a\u0301", "👨\u200d👩\u200d👧", "\u2028", "ÿa", "\U0010ffff", "\x80"]


@pytest.mark.parametrize("text", CHARACTERS)
def test_a_character_may_be_split_over_tokens(engine: str, text: str) -> None:
    matcher = compiler(engine).compile(schema({"enum": [f"x{text}y", "z"]})).matcher()
    for byte in f'"x{text}y"'.encode():
        assert allowed(matcher) == taken(matcher)
        assert matcher.accept(byte)
    assert matcher.stopped
    any_text = compiled(engine, "any JSON").matcher(b'"')
    data = text.encode()
    for place, byte in enumerate(data):
        inside = place > 0 and byte & 0xC0 == 0x80
        assert any_text.valid([ord("a")]) == (not inside), "a character that was begun has to be ended"
        assert any_text.accept(byte)


def test_bytes_that_are_no_text_are_refused(engine: str) -> None:
    for name, before in (("any JSON", b'"'), ("text and calls", b"a")):
        for data in (b"\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5", b"\xc3a"):
            matcher = compiled(engine, name).matcher(before)
            assert matcher.valid(list(data)) < len(data)


def test_both_engines_allow_the_same_with_a_real_vocabulary() -> None:
    real = vocabulary("starcoder")
    size = -(-real.size // 32)
    ends = pack(sorted(real.end_ids), real.size)
    engines = []
    for name in ENGINES:
        compiler(name)  # skips where it is not installed
        engines.append(GrammarCompiler(real, name))
    for name, text in TEXTS:
        first, second = (engine.compile(GRAMMARS[name]).matcher() for engine in engines)
        for token in [*real.encode(text), None]:
            masks = np.zeros((2, size), dtype=np.int32)
            first.fill(masks[0])
            second.fill(masks[1])
            assert not ((masks[0] ^ masks[1]) & ~ends).any()
            if token is not None:
                assert first.accept(token)
                assert second.accept(token)
