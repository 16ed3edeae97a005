"""Where the cursor, drawn as ^, stands in a JSON document, and what is known of the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec_lsp.json_schema.place import Place, place_of
from velospec_lsp.json_schema.syntax import START, advance, blank_comments, finished, without_trailing_commas

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def place(code: str) -> Place:
    found = place_of(*code.split("^"))
    assert found is not None
    return found


@given(values, st.sampled_from([None, 1, "\t"]), st.data())
def test_every_beginning_of_json_can_be_read(value: Any, indent: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(0, len(text)))
    state, read = advance(START, text[:cut])
    assert read == cut
    end, read = advance(state, text[cut:])
    assert read == len(text) - cut
    assert finished(end).closable
    assert finished(end).stack == ""


@given(values, st.data())
def test_brackets_that_are_open_are_closed_to_the_same_values(value: Any, data: st.DataObject) -> None:
    text = json.dumps({"a": [value, value], "b": value})
    cut = data.draw(st.integers(1, len(text)))
    found = place_of(text[:cut], "")
    assert found is not None
    assert found.known is not None
    known = json.loads(found.known)
    whole = json.loads(text)
    assert known.keys() <= whole.keys()
    assert found.unclosed == (cut < len(text))
    if "b" in known and cut == len(text):
        assert known == whole


@pytest.mark.parametrize(
    "text",
    [
        "{,",
        "[1 2",
        '{"a" 1',
        "{1: 2}",
        '{"a": }',
        "nul ",
        "[1}",
        "{} {}",
        '"a\nb"',
        "[01,",
        "[+1,",
        '{"a":: 1',
    ],
)
def test_what_is_no_json_is_seen(text: str) -> None:
    state, read = advance(START, text, strict=True)
    assert read < len(text) or not finished(state).closable


def test_the_frames_hold_what_stands_around_the_cursor() -> None:
    found = place('{"a": [1, {"x": 2, "b": tr^}], "$schema": "s", "c": {"d": 1}, "e": [3]}')
    outer, array, inner = found.frames
    assert (outer.before, outer.key) == ({}, "a")
    assert outer.behind == {"$schema": "s", "c": None, "e": None}
    assert (array.before, array.key, array.behind) == ([1], None, {})
    assert (inner.before, inner.key, inner.behind) == ({"x": 2}, "b", {})
    assert found.root_string("$schema") == "s"
    assert found.root_string("c") is None
    assert not found.unclosed


@pytest.mark.parametrize(
    ("code", "known", "unclosed"),
    [
        ('{"a": 1, ^}', {"a": 1}, False),
        ('{"a": ^, "b": 2}', {"b": 2}, False),
        ('{"a": 1, ^ "b": 2}', {"a": 1, "b": 2}, False),
        ('{"a": 1^ "b": 2}', {"b": 2}, False),
        ('{"a": "x^yz"}', {}, False),
        ('{"a": {"b": 1, ^\n}\n', {"a": {"b": 1}}, True),
        ('{"a": [1,], ^}', {"a": [1]}, False),
        ('// x\n{"a": 1, /* { */ ^}', {"a": 1}, False),
        ('{"a": "//", ^}', {"a": "//"}, False),
        ('{"a": [1, ^}', None, False),
    ],
)
def test_the_document_without_what_is_unfinished(code: str, known: Any, unclosed: bool) -> None:
    found = place(code)
    assert (found.known if found.known is None else json.loads(found.known)) == known
    assert found.unclosed == unclosed


@pytest.mark.parametrize("before", ['{"a": 1 // x', "/* x", '{"a" "b', "{} x", '{"a": 1}}', "[1, 2}"])
def test_no_place_in_comments_and_behind_mistakes(before: str) -> None:
    assert place_of(before, "") is None


def test_comments_and_byte_order_marks_become_blanks() -> None:
    text = '\ufeff{"a": "/*", // "b"\n /* [\n */ "c": 1}'
    blank = blank_comments(text)
    assert len(blank) == len(text)
    assert json.loads(blank) == {"a": "/*", "c": 1}
    assert json.loads(without_trailing_commas('{"a": ",}", "b": [1, ], }')) == {"a": ",}", "b": [1]}


def test_the_cursor_in_a_string_that_ends_behind_it() -> None:
    assert place('{"a": "b^c", "d": "e"}').behind == ', "d": "e"}'
    assert place('{"a": "b^, "d": "e"}').rest == 0
    assert place('{"a^": 1}').state.in_key
    assert place("[12^3]").in_word
    assert not place("[12^, 3]").in_word
