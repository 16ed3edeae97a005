"""What of a model's text goes into JSON with the cursor at ^: by the text behind it, and by the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec_lsp.json_schema.checks import checks_of
from velospec_lsp.json_schema.fit import fit
from velospec_lsp.json_schema.place import place_of
from velospec_lsp.json_schema.style import in_style

ANY: dict[str, Any] = {}
PAIR = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "kind": {"enum": ["red", "green"]},
        "count": {"type": "integer", "maximum": 99},
        "inner": {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    },
    "required": ["name", "kind"],
    "additionalProperties": False,
}


def fitted(code: str, text: str, schema: dict[str, Any], *, cut_off: bool = False) -> str:
    place = place_of(*code.split("^"))
    assert place is not None
    return fit(text, place, checks_of(json.dumps(schema)), cut_off=cut_off)


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        # an empty object, with its closing bracket behind the cursor
        ("{^}", '"a": 1, "b": 2}\n', '"a": 1, "b": 2'),
        ("{^}", '"a": 1, "b": ', '"a": 1'),
        ("{^}", "}", ""),
        # what the text opens, it closes
        ('{"a": ^}', '{"x": 1, "y', '{"x": 1}'),
        ('{"a": ^}', "[1, [2, 3", "[1, [2, 3]]"),
        ("{\n  ^\n}", '"a": {\n    "b": [1,', '"a": {\n    "b": [1]\n  }'),
        # a comma behind it, where a member follows
        ('{^"b": 1}', '"a": 1', '"a": 1, '),
        ('{^ "b": 1}', '"a": 1, "c": 2}', '"a": 1, "c": 2,'),
        ('{\n  ^\n  "b": 1\n}', '"a": 1,\n  "c"', '"a": 1,'),
        ("[^[1], 2]", "0", "0, "),
        ("[^, 2]", "0, 1,", "0, 1"),
        ('{"a": 1^\n "b": 2}', ',\n "c"', ","),
        # no comma before a closing bracket
        ('{"a": 1, ^}', '"b": 2,', '"b": 2'),
        ("[1, ^]", "2, 3,", "2, 3"),
        ('{"a": 1^}', ', "b": 2, ', ', "b": 2'),
        # no comma at the beginning of a line
        ('{"a": 1\n  ^\n}', ', "b": 2', ""),
        # within strings that end behind the cursor
        ('{"a": "^"}', 'foo", "b": 1', "foo"),
        ('{"a": "b^ d"}', " c", " c"),
        ('{"a": "http:^//x"}', "y", "y"),
        ('{"f^": 1}', 'oo": "b"}', "oo"),
        ('{"^"}', 'foo": "b"}', 'foo": "b'),
        ('{"a": "^, "b": 1}', 'x"', 'x"'),
        # numbers and words
        ('{"a": tr^}', 'ue, "b": fal', "ue"),
        ('{"a": 1^}', "2", "2"),
        ('{"a": ^}', "nul", ""),
        # what is closed behind the cursor is not closed before it
        ('{"a": [1, ^]}', '2, 3], "b": [4', "2, 3"),
        ('{"a": [1, ^}', "2], 3", "2]"),
        # keys that are there already
        ('{"a": 1, ^}', '"b": 1, "a": 2', '"b": 1'),
        ('{^, "a": 1}', '"b": 1, "a": 2', '"b": 1'),
        # documents without an end
        ("^", '{"a": [1, {"x": 2, "y', '{"a": [1, {"x": 2'),
        ('{"a": ^', '[1, 2], "b": "c', "[1, 2]"),
        ('{"a": {"b": 1^\n}\n', ', "c": 2}', ', "c": 2}'),
        ('{"a": 1^', "}\n", "}"),
        # documents that are broken elsewhere
        ('{"a": ^, "b": oops}', '1, "c"', "1"),
        ('{"a": ^]', "1}", ""),
        # comments
        ('{ // one\n  "a": ^ // two\n}', '1, "b": 2', '1, "b": 2'),
    ],
)
def test_the_text_behind_the_cursor_goes_on(code: str, text: str, left: str) -> None:
    assert fitted(code, text, ANY) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ('{"kind": ^, "name": "xy"}', '"red", "count": 1', '"red", "count": 1'),
        ('{"kind": ^, "name": "xy"}', '"red", "count": 100', '"red"'),
        ('{"kind": ^, "name": "xy"}', '"blue"', ""),
        ('{"kind": "r^", "name": "xy"}', 'ed", "x"', "ed"),
        ('{"name": "^", "kind": "red"}', "x", ""),
        ('{"name": "xy", "kind": "red", ^}', '"other": 1', ""),
        # what misses required members is not closed
        ('{"name": "xy", "kind": "red", "inner": ^}', '{"a": 1, "b": 2, "c', '{"a": 1, "b": 2}'),
        ('{"name": "xy", "kind": "red", "inner": ^}', '{"a": 1, "c', ""),
        # but may be left open in a document without an end
        ('{"name": "xy", "kind": "red", "inner": ^', '{"a": 1, "c', '{"a": 1'),
        ('{"name": "xy", ^', '"list": [1, 2', '"list": [1, 2'),
        ('{"name": "xy", ^', '"list": [1, 2, 3', '"list": [1, 2'),
        # what was wrong or missing before may stay so
        ("{^}", '"name": "xy", "count": 3', '"name": "xy", "count": 3'),
        ('{"wrong": 1, ^}', '"name": "xy", "more": 1', '"name": "xy"'),
        ('{"name": "x", "kind": ^}', '"red"', '"red"'),
    ],
)
def test_nothing_breaks_the_schema_that_did_not_before(code: str, text: str, left: str) -> None:
    assert fitted(code, text, PAIR) == left


def test_half_a_number_is_none() -> None:
    assert fitted('{"a": 1, ^}', '"b": 20, "c": 30', ANY) == '"b": 20, "c": 30'
    assert fitted('{"a": 1, ^}', '"b": 20, "c": 30', ANY, cut_off=True) == '"b": 20'


@pytest.mark.parametrize(
    ("code", "text", "styled"),
    [
        ('{\n\t"a": ^\n}', "[\n  1,\n  [\n2]\n]", "[\n\t\t1,\n\t\t[\n\t\t\t2]\n\t]"),
        ('{\n    "a": ^\n}', '{\n  "b": 1\n}', '{\n        "b": 1\n    }'),
        ("{\n  ^\n}", '"a": 1,\n\n   "b": 2', '"a": 1,\n\n  "b": 2'),
        ("^", '{\n    "a": 1\n}', '{\n  "a": 1\n}'),
        # a line that does not follow the rule itself
        ('{\n  "a": 1,\n     "b": 2,^\n}', '\n   "c": 3', '\n   "c": 3'),
        # blanks
        ("{ ^ }", ' "a" : 1 ,"b":   2', '"a": 1,"b": 2'),
        ("{^}", '"a": 1  \n , "b": 2', '"a": 1, "b": 2'),
        ('{"^"}', 'a  , : b" : "c ,  d"', 'a  , : b": "c ,  d"'),
        ('{"a": 1,^}', ' "b": 2', ' "b": 2'),
        ("{^}", '\r\r"a": 1\r\n', '"a": 1\n'),
    ],
)
def test_the_layout_is_the_documents(code: str, text: str, styled: str) -> None:
    place = place_of(*code.split("^"))
    assert place is not None
    assert in_style(text, place) == styled


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text('ab"\\/{}[],: ', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
fragments = st.text('{}[],:"1a \n\\', max_size=12)


@given(values, values, st.sampled_from([None, 2]), fragments, st.data())
def test_a_closed_document_stays_json_whatever_is_written(
    value: Any, other: Any, indent: int | None, noise: str, data: st.DataObject
) -> None:
    text = json.dumps({"x": value, "y": [value, {"z": other}]}, indent=indent)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    written = data.draw(st.sampled_from([text[start:end], json.dumps(other), text[start:]])) + noise
    place = place_of(text[:start], text[end:])
    if place is None or place.in_word:
        return
    item = fit(in_style(written, place), place, checks_of("{}"))
    made = text[:start] + item + text[end:]
    if item and place.known is not None and not place.unclosed:
        json.loads(made)
    elif item and place.unclosed and "//" not in text[end:]:  # which may be a comment there
        assert place_of(made, "") is not None


@given(st.text('{}[],:"1ae-. \n\\/*tru', max_size=30), fragments, fragments)
def test_nothing_that_a_document_holds_is_too_much(before: str, after: str, written: str) -> None:
    place = place_of(before, after)
    if place is not None and not place.in_word:
        assert fit(in_style(written, place), place, checks_of("{}")) is not None
