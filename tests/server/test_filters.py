"""The filters, on code with the cursor at ^: what they cut, and what they must leave."""

from __future__ import annotations

from pathlib import Path

import pytest

import velospec_lsp.filters as package
from velospec_lsp.completion.offer import make_offer
from velospec_lsp.completion.site import Query, Selection, Site, site_of
from velospec_lsp.completion.tail import covers
from velospec_lsp.documents import Document
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.filters import FILTERS, apply_filters
from velospec_lsp.filters.blank import trim_blank
from velospec_lsp.filters.indentation import drop_repeated_indentation
from velospec_lsp.filters.next_line import drop_next_lines
from velospec_lsp.filters.sentinel import cut_at_sentinel
from velospec_lsp.filters.tail_overlap import cut_tail_overlap
from velospec_lsp.text import Place, Text


def query(code: str, selection: Selection | None = None) -> Query:
    before, _, after = code.partition("^")
    lines = before.split("\n")
    document = Document("file:///a.py", "python", 1, Text.of(before + after), PositionEncoding.UTF16)
    return Query(document, Place(len(lines) - 1, len(lines[-1])), selection=selection)


def site(code: str) -> Site:
    found = site_of(query(code), 4000, 1000)
    assert found is not None
    return found


def test_every_filter_is_in_the_list_and_in_this_file() -> None:
    modules = {file.stem for file in Path(package.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == {function.__module__.rpartition(".")[2] for _, function in FILTERS}
    assert {function.__name__ for _, function in FILTERS} <= set(globals())


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x = ^", "1<|endoftext|>more", "1"),
        ("x = ^", "1<fim_middle>more", "1"),
        ("x = ^", "1<file_sep>more", "1"),
        ("x = ^", "a <b> c <|> d", "a <b> c <|> d"),
        ("STOP = '<|im_end|>'\nx = ^", "'<|im_end|>'", "'<|im_end|>'"),
        ("x = ^", "List<PRE>", "List"),
    ],
)
def test_sentinel(code: str, text: str, left: str) -> None:
    assert cut_at_sentinel(text, site(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("def f():\n    ^", "    return 1", "return 1"),
        ("def f():\n    x = 1\n    ^", "    return 1", "return 1"),
        ("def f():\n\t^", "\treturn 1", "return 1"),
        ("    if x:\n    ^", "    return 1", "    return 1"),
        ("    if x:\n^", "    return 1", "    return 1"),
        ("x =^", " 1", " 1"),
        ("    ^", "return 1\n    more", "return 1\n    more"),
    ],
)
def test_indentation(code: str, text: str, left: str) -> None:
    assert drop_repeated_indentation(text, site(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("print(^)", "x)", "x)"),
        ("print(^)", "f(x)", "f(x)"),
        ("print(^)", ")", ""),
        ('print("^") ', '")', ""),
        ("print(^)", ")\nx = 1", ")\nx = 1"),
        ("print(^))", "x)", "x"),
        ("print(^)  ", "x)", "x"),
        ('print("^")', 'hello (there")', 'hello (there")'),
        ('print("^")', "hello", "hello"),
        ("f(^, y)", "x, y)", "x"),
        ("f(^, y)", "x)", "x"),
        ("x = ^ + 1", "y + 1", "y"),
        ("x = ^ + 1", "y\nz", "y"),
        ("if ^ == 1:", "x == 1:", "x"),
        ("x = ^", "f(y)", "f(y)"),
        ("for x in ^:", "range(3):", "range(3):"),
        ("d = {^}", "'a': {}}", "'a': {}}"),
        ("d = {^}", "'a': {}", "'a': {}"),
    ],
)
def test_tail_overlap(code: str, text: str, left: str) -> None:
    assert cut_tail_overlap(text, site(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("a = 1\n^\nb = 2\n", "b = 2", ""),
        ("a = 1\n^\n\n\nb = 2\nc = 3\n", "b = 2\nc = 3", ""),
        ("a = 1\n^\nb = 2\nc = 3\n", "b = 2\nc =", ""),
        ("a = 1\n^\nb = 2\nc = 3\n", "x = 5\nb = 2\nc = 3", "x = 5"),
        ("f() {\n  if (x) {^\n}\n", "\n    y();\n  }", "\n    y();\n  }"),
        ("f() {\n  if (x) {^\n}\n", "\n    y();\n  }\n}", "\n    y();\n  }"),
        ("a = 1\n^\nb = 2\nc = 3\n", "b = 2\nc = 3\nd = 4", ""),
        ("^\n\nclass Store:\n    x = 1\n", "class Store:\n    y = 2", ""),
        ("f(^\n  for (const x of y) {\n  }\n", "z);\n\n  for (const x of y) {\n    g(x);", "z);\n"),
        ("f(^\n    break;\n", "x);\n    break;\n    g();", "x);\n    break;\n    g();"),
        ("f(^\n  a = 1;\n\n  b = 2;\n}\n", "x) {\n  a = 1;\n  b = 2;\n  c = 3;", "x) {"),
        ("f(^\n  a = 1;\n  b = 2;\n}\n", "x) {\n  a = 1;\n  c = 3;", "x) {\n  a = 1;\n  c = 3;"),
        ("a = 1\n^\nb = 2\n", "b = 23", "b = 23"),
        ("a = ^\nb = 2\n", "b = 2", "b = 2"),
        ("a = 1\nb^\nb = 2\n", " = 2", ""),
        ("x^", "yz", "yz"),
        ("x^\n\n", "yz\n", "yz\n"),
    ],
)
def test_next_line(code: str, text: str, left: str) -> None:
    assert drop_next_lines(text, site(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x^", " = 1  \n\n", " = 1"),
        ("x^", " \n\t", ""),
        ("x = ^y", "1 + ", "1 + "),
        ("x = ^y", "1 + \n", "1 +"),
    ],
)
def test_blank(code: str, text: str, left: str) -> None:
    assert trim_blank(text, site(code)) == left


def test_the_filter_that_left_nothing_is_named() -> None:
    assert apply_filters("b = 2", site("a = 1\n^\nb = 2\n")) == ("", "next line")
    assert apply_filters("", site("x^")) == ("", "sentinel")
    assert apply_filters("    return 1\n<|endoftext|>", site("def f():\n    ^")) == ("return 1", "")
    assert (cut_at_sentinel, drop_next_lines) == (FILTERS[0][1], FILTERS[3][1])


@pytest.mark.parametrize(
    ("text", "tail", "covered"),
    [
        ("x)", ")", True),
        ("x)]", ")]", True),
        ("f(x)", ")", False),
        ("x)", " )", False),
        ('a")', '")', True),
        ("x);", ");", True),
        ("')' + x)", ")", True),
        ("')'", ")", False),
        ("x) + 1", ") + 1", False),
        ("x", "", False),
    ],
)
def test_what_covers_a_tail(text: str, tail: str, covered: bool) -> None:
    assert covers(text, tail) is covered


def test_ranges() -> None:
    def offered(code: str, typed: str, text: str) -> tuple[str, int, int]:
        asked = query(code)
        offer = make_offer("v1", typed, text, asked, site(code))
        assert offer.start.line == offer.end.line == asked.cursor.line
        return offer.text, offer.start.index, offer.end.index

    assert offered("x = ^", "", "1") == ("1", 4, 4)
    assert offered("x = 12^", "12", "3") == ("123", 4, 6)
    assert offered("print(x^)", "x", ")") == ("x)", 6, 8)
    assert offered("f(a^) + 1", "a", ", b") == (", b", 3, 3)
    assert offered("if x:\n    pa^", "\n    pa", "ss") == ("    pass", 0, 6)


@pytest.mark.parametrize(
    ("length", "limit"), [(40, 100), (5_000, 4_000), (200_000, 4_000), (100_000, 500), (3_000, 100)]
)
def test_the_window_keeps_its_start_while_the_user_types(length: int, limit: int) -> None:
    lines = [f"line {number} of it\n" for number in range(length // 15)]
    starts = set()
    for typed in range(40):
        asked = query("".join(lines) + "x" * typed + "^\nrest\n" * 3)
        found = site_of(asked, limit, limit)
        assert found is not None
        assert len(found.prefix) <= limit
        assert found.prefix.endswith("it\n" + "x" * typed)
        starts.add(found.prefix[:30].rstrip("x"))
    assert len(starts) <= (2 if limit > 1000 else 3)


def test_a_line_too_long_for_the_window_is_cut_in_strides() -> None:
    found = [site_of(query("y" * 50_000 + "x" * typed + "^"), 4_000, 1_000) for typed in range(50)]
    sizes = [len(each.prefix) for each in found if each]
    assert all(0 < size <= 4_000 for size in sizes)
    assert len({size - typed for typed, size in enumerate(sizes)}) <= 2


def test_the_suffix_is_cut_at_its_limit() -> None:
    found = site_of(query("a^b\r\n" + "c\r\n" * 500), 100, 7)
    assert found is not None
    assert found.suffix == "b\nc\nc\nc"[:7]
