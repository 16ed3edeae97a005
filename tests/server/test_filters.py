"""The filters together: their order, what holds of all of them, and how much they read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import velospec_lsp.filters as package
from tests.support.repository import ROOT
from tests.support.sites import query_between, site_at
from velospec_lsp.completion import outline
from velospec_lsp.completion.languages import language_of
from velospec_lsp.completion.outline import pattern
from velospec_lsp.completion.site import Site, site_of
from velospec_lsp.filters import FILTERS, apply_filters


def test_every_filter_is_in_the_list_and_has_cases() -> None:
    modules = {file.stem for file in Path(package.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == {each.function.__module__.rpartition(".")[2] for each in FILTERS}
    cases = "".join(
        file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_filters*.py")
    )
    assert [each.name for each in FILTERS if f"{each.function.__name__}(" not in cases] == []


def test_the_page_lists_the_filters_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \|", page.partition("| filter |")[2].partition("##")[0], re.MULTILINE)
    assert rows == [each.name for each in FILTERS]


def test_the_filter_that_left_nothing_is_named() -> None:
    assert apply_filters("b = 2", site_at("a = 1\n^\nb = 2\n")) == ("", "next line")
    assert apply_filters("", site_at("x^")) == ("", "sentinel")
    assert apply_filters("    return 1\n<|endoftext|>", site_at("def f():\n    ^")) == ("return 1", "")


def test_what_a_filter_lays_bare_does_not_escape_those_before_it() -> None:
    site = site_at("a = compute(1)\n^\nb = compute(2)\n")
    assert apply_filters("b = compute(2))", site) == ("", "next line")


def test_documents_with_other_line_ends_are_as_all_others() -> None:
    found = site_of(query_between("def f():\r\n    a = first()\r\n    ", "\r\n    return a\r\n"), 4000, 1000)
    assert found is not None
    assert apply_filters("return a", found) == ("", "next line")
    assert apply_filters("a = first()", found) == ("", "lines above")
    assert apply_filters("    b = 2\n    return a", found) == ("b = 2", "")


def test_tabs_stay_tabs() -> None:
    site = site_at("func f() {\n\tif x {^\n}\n", "go")
    assert apply_filters("\n\t\treturn\n\t}", site) == ("\n\t\treturn\n\t}", "")


@pytest.mark.parametrize("mark", ["\u0065\u0301", "\U0001f469\u200d\U0001f4bb", "\u05d0", "\u4f60\u597d"])
def test_characters_of_several_code_points_stay_whole(mark: str) -> None:
    site = site_at(f"s = '{mark}^'\nt = '{mark}'\n")
    assert apply_filters(f"{mark}x{mark}", site) == (f"{mark}x{mark}", "")
    assert apply_filters(f"{mark}'", site) == (f"{mark}'", "")


CODE = st.lists(
    st.sampled_from(
        [
            *"()[]{}\"'`#/*:;,.=< \n\t\\x",
            *(
                "if",
                "else",
                "end",
                "return x",
                "foo(bar, baz)",
                "\n    ",
                "\n        ",
                '"""',
                "//",
                "```\n",
                "<PRE>",
            ),
            *("Here is the code:\n", "\u0301", "\U0001f600", "\u2028", "\r"),
        ]
    ),
    max_size=40,
).map("".join)
LANGUAGES = st.sampled_from(
    ["python", "c", "rust", "javascript", "lua", "yaml", "markdown", "html", "shellscript", ""]
)


def site_between(before: str, after: str, language: str) -> Site:
    found = site_of(
        query_between(before.replace("\r", "\n"), after.replace("\r", "\n"), language), 4000, 1000
    )
    assert found is not None
    return found


@given(CODE, CODE, CODE, LANGUAGES, st.booleans())
@settings(max_examples=400, deadline=None)
def test_what_is_left_is_a_part_of_the_text(
    before: str, text: str, after: str, language: str, cut: bool
) -> None:
    site = site_between(before, after, language)
    left, by = apply_filters(text, site, cut_off=cut)
    assert left in text
    assert (left == "") == (by != "")
    assert left == left.rstrip() or (site.tail.strip() and left == left.rstrip() + " ")
    assert apply_filters(left, site)[0] == left
    for each in FILTERS:
        assert each.function(text, site) in text


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), LANGUAGES)
@settings(max_examples=200, deadline=None)
def test_no_text_is_too_strange(before: str, text: str, after: str, language: str) -> None:
    assert apply_filters(text, site_between(before, after, language), cut_off=True)[0] in text


def test_an_unknown_language_has_the_facts_that_most_share() -> None:
    assert language_of("brainfuck") is language_of("")
    assert not language_of("").prose
    assert language_of("markdown").prose


def test_the_work_grows_with_the_text_and_not_with_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    class Counting:
        def __init__(self, pattern: re.Pattern[str]) -> None:
            self._pattern = pattern

        def finditer(self, text: str, begin: int) -> Iterator[re.Match[str]]:
            nonlocal read
            read += len(text) - begin
            return self._pattern.finditer(text, begin)

    monkeypatch.setattr(outline, "pattern", lambda language: Counting(pattern(language)))
    body = "    value = call(first, second)\n" * 400
    code = f"def f():\n{body}    ^\n{body}"
    for lines in (12, 96):
        text = (
            "if first:\n"
            + "".join(f"        call(a[{number}])\n" for number in range(lines))
            + "    return b"
        )
        read = 0
        assert apply_filters(text, site_at(code)) == (text, "")
        assert read <= 4096 + 1000 + 3 * len(text)
