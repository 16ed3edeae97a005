"""The text model against a plain string that a slow, obvious editor changes."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec_lsp.documents import Change, Documents, Position
from velospec_lsp.encoding import PositionEncoding, to_column, to_index, whole_characters
from velospec_lsp.text import Place, Text, split_lines, to_lf

# Every character that some splitter takes for a line end, and one of each width in UTF-8 and UTF-16.
ALPHABET = "ab\t\r\n\x0b\x0c\x1c\x85\u2028\u2029é文😋\u0301"
texts = st.text(ALPHABET, max_size=40)
positions = st.tuples(st.integers(-1, 12), st.integers(-1, 30))
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def model_offset(source: str, line: int, column: int, encoding: str) -> int:
    """Offset in `source` of a position, found by counting units character by character."""
    codec, size = CODECS[encoding]
    if line < 0:
        return 0
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", source))]
    if line >= len(starts):
        return len(source)
    at, units = starts[line], 0
    while at < len(source) and source[at] not in "\r\n":
        units += len(source[at].encode(codec)) // size
        if units > column:
            break
        at += 1
    return at


edits = st.lists(st.tuples(positions, positions, texts), max_size=6)


@given(texts, edits, st.sampled_from(list(PositionEncoding)))
def test_edits_equal_those_of_a_plain_string(
    source: str, edits: list[tuple[tuple[int, int], tuple[int, int], str]], encoding: PositionEncoding
) -> None:
    documents = Documents(encoding)
    documents.open("file:///a", "python", 1, source)
    for version, (start, end, new) in enumerate(edits, 2):
        documents.change("file:///a", version, [Change(new, Position(*start), Position(*end))])
        low, high = sorted(model_offset(source, *at, encoding.value) for at in (start, end))
        source = source[:low] + new + source[high:]
        document = documents.get("file:///a")
        assert document is not None
        assert (str(document.text), document.version) == (source, version)
        assert list(document.text.lines(0)) == split_lines(source)
        assert document.text.line_count == len(re.findall(r"\r\n|\r|\n", source)) + 1
        assert document.text.size == len(source)


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(0, 700), st.integers(0, 700)), max_size=8))
def test_many_lines_moved_at_once_stay_in_order(edits: list[tuple[int, int, int]]) -> None:
    lines = [f"{number}\n" for number in range(600)]
    text = Text.of("".join(lines))
    for start, removed, added in edits:
        new = [f"+{number}\n" for number in range(added)]
        text = text.replace(Place(start, 0), Place(start + removed, 0), "".join(new))
        lines[start : start + removed] = new
        assert str(text) == "".join(lines)
        assert all(text.line(number) == line for number, line in enumerate(lines))
        assert all(text.blocks), "no empty block"
        assert list(text.lines_backwards(len(lines))) == lines[::-1]


@given(st.text("aé文😋", max_size=12), st.sampled_from(list(PositionEncoding)))
def test_columns_and_indices_are_inverse(line: str, encoding: PositionEncoding) -> None:
    for index in range(len(line) + 1):
        assert to_index(line + "\n", to_column(line, index, encoding), encoding) == index


def test_a_column_inside_a_character_means_the_place_before_it() -> None:
    assert to_index("x😋y", 2, PositionEncoding.UTF16) == 1
    assert [to_index("x😋y", column, PositionEncoding.UTF8) for column in range(7)] == [0, 1, 1, 1, 1, 2, 3]


def test_lone_surrogates_become_replacement_characters() -> None:
    assert whole_characters("a\ud83db\ude0bc😋") == "a\ufffdb\ufffdc😋"


def test_a_line_feed_typed_behind_a_carriage_return_joins_it() -> None:
    text = Text.of("a\rb").replace(Place(1, 0), Place(1, 0), "\n")
    assert list(text.lines(0)) == ["a\r\n", "b"]
    text = Text.of("a\rxyz\nb").replace(Place(1, 0), Place(1, 3), "")
    assert list(text.lines(0)) == ["a\r\n", "b"]


def test_form_feed_and_unicode_separators_end_no_line() -> None:
    assert Text.of("a\x0cb\u2028c\x85d\ne").line_count == 2


def test_a_snapshot_does_not_see_later_edits() -> None:
    documents = Documents()
    before = documents.open("file:///a", "python", 1, "one\ntwo")
    documents.change("file:///a", 2, [Change("zero\n", Position(0, 0), Position(0, 0))])
    assert (str(before.text), before.version) == ("one\ntwo", 1)


def test_a_change_without_a_range_is_the_whole_text() -> None:
    documents = Documents()
    documents.open("file:///a", "python", 1, "one")
    changed = documents.change("file:///a", 2, [Change("two\n"), Change("!", Position(1, 0), Position(1, 0))])
    assert changed is not None
    assert str(changed.text) == "two\n!"


def test_a_change_of_an_unknown_document_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    assert Documents().change("file:///a", 2, [Change("two")]) is None
    assert "not open" in caplog.text
    assert "two" not in caplog.text


def test_line_ends_become_line_feeds() -> None:
    assert to_lf(["a\r\n", "b\r", "c\n", "d"]) == "a\nb\nc\nd"


def _seconds_per_edit(lines: int) -> float:
    text = Text.of("    some_code = value(1, 2)\n" * lines)
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        for number in range(0, lines, lines // 50):
            text = text.replace(Place(number, 4), Place(number, 4), "x")
            text.line(number)
        best = min(best, (time.perf_counter() - begun) / 50)
    return best


def test_an_edit_of_a_hundred_thousand_lines_costs_little_more_than_one_of_a_thousand() -> None:
    assert _seconds_per_edit(100_000) < 20 * _seconds_per_edit(1_000)
