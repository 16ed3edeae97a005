"""A cursor that remembers what it found says in every order of questions what its engine says at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.grammar_cases import GRAMMARS, TEXTS, VOCABULARY, compiled, compiler, spellings
from tests.support.schema_engines import ENGINES
from velospec.constraints.cursor import GrammarConstraint
from velospec.constraints.found import Found
from velospec.constraints.matcher import Matcher

CASES = [(name, text) for name, text in TEXTS if len(text) > 4]


def piece(token: int) -> bytes:
    return VOCABULARY.piece(token)


def behind(engine: str, name: str, ids: tuple[int, ...]) -> Matcher:
    """A cursor of the engine alone behind `ids`, which it allows."""
    matcher = compiled(engine, name).matcher()
    assert matcher.consume(ids) == len(ids)
    return matcher


@pytest.mark.parametrize("engine", ENGINES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_answers_do_not_depend_on_what_was_asked_before(engine: str, data: st.DataObject) -> None:
    name, text = data.draw(st.sampled_from(CASES))
    ids = tuple(data.draw(st.sampled_from(list(spellings(text)))))
    cursor = compiler(engine).start(GRAMMARS[name])
    decided, other = 0, st.integers(0, VOCABULARY.size - 1)
    for _ in range(data.draw(st.integers(4, 14))):
        ahead = ids[decided : data.draw(st.integers(decided, len(ids)))]
        here = behind(engine, name, ids[: decided + len(ahead)])
        match data.draw(st.sampled_from(("forced", "valid", "allows", "closes", "advance"))):
            case "forced":
                found = cursor.forced(ahead)
                # What is left of a longer text may be known where the engine tells whole characters only.
                assert here.forced().startswith(found) or found.startswith(here.forced())
            case "valid":
                asked = [*ids[decided + len(ahead) :][: data.draw(st.integers(0, 5))], data.draw(other)]
                asked = [token for token in asked if token not in VOCABULARY.end_ids]
                assert cursor.valid(ahead, asked) == here.valid(asked)
            case "allows":
                token = data.draw(other)
                expected = here.accepting if token in VOCABULARY.end_ids else here.valid((token,)) == 1
                assert cursor.allows(ahead, token) == expected
            case "closes":
                assert cursor.closes(ahead) == here.stopped
            case "advance":
                cursor.advance(ahead)
                decided += len(ahead)
    assert cursor.closed == behind(engine, name, ids[:decided]).stopped


@pytest.mark.parametrize("engine", ENGINES)
def test_forced_ids_are_counted_at_the_end_and_leave_the_cursor_where_it_is(engine: str) -> None:
    cursor = compiler(engine).start(GRAMMARS["an object"])
    assert isinstance(cursor, GrammarConstraint)
    ids = VOCABULARY.encode('{"name": "red", "age": 12}')
    cursor.advance(ids[:-1])
    ahead = VOCABULARY.encode(', "tags"')
    assert cursor.valid((), ahead) == len(ahead)
    inside = cursor.forced_tokens
    assert 0 < inside < len(ids)
    assert cursor.forced_tokens == inside
    assert cursor.valid(ahead, VOCABULARY.encode(": [")) > 0
    cursor.advance(ids[-1:])
    assert cursor.closed


def test_forced_text_decides_of_ids_without_an_engine() -> None:
    found = Found(piece)
    text = VOCABULARY.encode('"name": ')
    assert found.judged(tuple(text)) == (0, False)
    found.note_forced((), b'"name": ')
    assert found.judged(tuple(text)) == (len(text), True)
    assert found.judged((*text, 1)) == (len(text), False)
    assert found.judged((*text[:1], ord("x"))) == (1, True)
    assert found.judged((next(iter(VOCABULARY.control_ids)),)) == (0, False)
    assert found.forced(tuple(text[:1])) == b'"name": '[len(piece(text[0])) :]
    assert found.forced(tuple(text)) == b""
    assert found.forced((ord("x"),)) is None


def test_what_was_found_moves_on_with_the_answer() -> None:
    found = Found(piece)
    found.note_allowed((1, 2, 3))
    found.note_allowed((1, 2))
    found.note_forced((1,), b"a")
    found.note_forced((4,), b"b")
    found.advance((1,))
    assert (found.allowed((2, 3)), found.allowed((1,)), found.allowed(())) == (True, False, True)
    assert (found.forced(()), found.forced((4,))) == (b"a", None)
    found.advance((9,))
    assert not found.allowed((3,))
    assert found.forced(()) is None
