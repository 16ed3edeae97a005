"""The filters together, and those that look at the text alone: what they cut, and what they must leave.

A case is code with the cursor at ^, what the model wrote there, and what is left of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import velospec_lsp.filters as package
from tests.support.sites import query_between, site_at
from velospec_lsp.completion import outline
from velospec_lsp.completion.languages import language_of
from velospec_lsp.completion.outline import pattern
from velospec_lsp.completion.site import Site, site_of
from velospec_lsp.filters import FILTERS, apply_filters
from velospec_lsp.filters.blank import trim_blank
from velospec_lsp.filters.chat import strip_chat
from velospec_lsp.filters.indentation import drop_repeated_indentation
from velospec_lsp.filters.leading_space import drop_doubled_space
from velospec_lsp.filters.line_end import cut_repeated_end
from velospec_lsp.filters.repetition import cut_repeated_lines
from velospec_lsp.filters.sentinel import cut_at_sentinel
from velospec_lsp.filters.trivial import drop_trivial
from velospec_lsp.filters.unfinished import drop_unfinished


def test_every_filter_is_in_the_list_and_has_cases() -> None:
    modules = {file.stem for file in Path(package.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == {each.function.__module__.rpartition(".")[2] for each in FILTERS}
    cases = "".join(
        file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_filters*.py")
    )
    assert [each.name for each in FILTERS if f"{each.function.__name__}(" not in cases] == []


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x = ^", "1<|endoftext|>more", "1"),
        ("x = ^", "1<fim_middle>more", "1"),
        ("x = ^", "1<file_sep>more", "1"),
        ("x = ^", "1</think>", "1"),
        ("x = ^", "1[SUFFIX]", "1"),
        ("x = ^", "a <b> c <|> d", "a <b> c <|> d"),
        ("STOP = '<|im_end|>'\nx = ^", "'<|im_end|>'", "'<|im_end|>'"),
        ("x = ^", "List<PRE>", "List"),
        ("x = ^", "'usage: cat <filename>'", "'usage: cat <filename>'"),
        ("x = ^", '"<filename>"', '"<filename>"'),
    ],
)
def test_sentinel(code: str, text: str, left: str) -> None:
    assert cut_at_sentinel(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x = ^", "```python\n1\n```\nThis sets x.", "1"),
        ("x = ^", "Here is the completed code:\n\n```python\n1\n```", "1"),
        ("x = ^", "1\n```\nThe code above sets x to one.", "1"),
        ("x = ^", "1\n\nThis code sets x to one.", "1"),
        ("x = ^", "I'm sorry, but I can not do that.", ""),
        ("x = ^", "Sure! Here it is:\n~~~\n1", "1"),
        ("x = ^", "The\n", "The\n"),
        ("x = ^", "Sure(1)", "Sure(1)"),
        ("# Not so. ^", "The code below sets x.", "The code below sets x."),
        (
            '"""Say it.\n\n^\n"""',
            "The following code:\n\n```\nx = 1\n```",
            "The following code:\n\n```\nx = 1\n```",
        ),
    ],
)
def test_chat(code: str, text: str, left: str) -> None:
    assert strip_chat(text, site_at(code)) == left


def test_in_markdown_sentences_and_fences_are_right() -> None:
    text = "Here is the code:\n\n```python\n1\n```"
    assert strip_chat(text, site_at("# Title\n\n^", "markdown")) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a = 1\nb = fo", "a = 1"),
        ("a = 1\n", "a = 1"),
        ("foo(a, ba", "foo(a"),
        ("self.val", "self"),
        ("x = ", "x"),
        ("foo()", "foo()"),
        ("\n    foo.ba", "\n    foo"),
        ("retu", "retu"),
        ("a = 1\ndef f():\n    retu", "a = 1"),
        ("a = 1\n\n@cache\ndef f", "a = 1"),
        ("def f():\n    retu", "def f():"),
        ("a = 1\nb = f(\n    c,\n    d", "a = 1"),
        ("b = f(\n    c,\n    d", "b = f("),
        ('def f():\n    """Say\n\n    more', "def f():"),
        ("if a:\n    b = {\n        c: 1", "if a:"),
        ("if (a) {\n  b();\n  c", "if (a) {\n  b();"),
        ("\n    o", "\n    o"),
        ("= caf\u0065\u0301", "= caf\u0065\u0301"),
        ("x = caf\u0065\u0301", "x"),
        ("na\u00efve \U0001f469\u200d\U0001f4bb", "na\u00efve"),
        ("# the number of wo", "# the number of"),
    ],
)
def test_unfinished(text: str, left: str) -> None:
    assert drop_unfinished(text, site_at("^")) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("print(a, b[0", "print"),
        ("return foo(a) + ba", "return foo(a)"),
        ("x = 'hello wor", "x"),
        ("x = f'hello wor", "x"),
        ("foo(1)\nbar(", "foo(1)"),
    ],
)
def test_a_line_that_was_cut_off_ends_balanced(text: str, left: str) -> None:
    assert apply_filters(text, site_at("^"), cut_off=True) == (left, "")


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("def f():\n    ^", "    return 1", "return 1"),
        ("def f():\n    x = 1\n    ^", "    return 1", "return 1"),
        ("def f():\n\t^", "\treturn 1", "return 1"),
        ("def f():\n  ^", "    return 1", "return 1"),
        ("    if x:\n    ^", "    return 1", "    return 1"),
        ("    if x:\n    ^", "        return 1", "    return 1"),
        ("\tif x:\n\t^", "\t\treturn 1", "\treturn 1"),
        ("    if x:\n^", "    return 1", "    return 1"),
        ("x =^", " 1", " 1"),
        ("    ^", "return 1\n    more", "return 1\n    more"),
        ("    ^", "    \n    more", "    \n    more"),
    ],
)
def test_indentation(code: str, text: str, left: str) -> None:
    assert drop_repeated_indentation(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x = ^", " 1", "1"),
        ("x =\t^", " 1", "1"),
        ("x =^", " 1", " 1"),
        ("x = ^", "   1", "   1"),
        ("x = 1 ^", " # one", " # one"),
        ("    ^", " 1", " 1"),
        ("# a ^", " b", " b"),
        ("s = 'a ^'", " b", " b"),
    ],
)
def test_leading_space(code: str, text: str, left: str) -> None:
    assert drop_doubled_space(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("foo(1, 23)\n" * 3 + "bar()", "foo(1, 23)"),
        ("a = first(1)\n\nb = 2\n" * 3, "a = first(1)\n\nb = 2"),
        ("a = first(1)\nb = 2\nc = 3\n" * 2, "a = first(1)\nb = 2\nc = 3"),
        ("a = first(1)\nb = 2\n" * 2, "a = first(1)\nb = 2\n" * 2),
        (
            "# A sentence of a comment that\n# goes on over its second line.\n" * 2,
            "# A sentence of a comment that\n# goes on over its second line.",
        ),
        ("|            |\n" * 3, "|            |\n" * 3),
        ("foo(1, 2)\nfoo(1, 2)\nbar()", "foo(1, 2)\nfoo(1, 2)\nbar()"),
        ("}\n}\n}\n}", "}\n}\n}\n}"),
        ("  a();\n}\n  a();\n}", "  a();\n}\n  a();\n}"),
        ("foo(1, 2)\nfoo(1, 3)\nfoo(1, 4)", "foo(1, 2)\nfoo(1, 3)\nfoo(1, 4)"),
    ],
)
def test_repeated_lines(text: str, left: str) -> None:
    assert cut_repeated_lines(text, site_at("^")) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x.foo.foo.foo.foo.foo", "x.foo"),
        ("a\nthe same words, the same words, the same words, the sa\nb", "a\nthe same words, "),
        ("x.foo.foo.foo", "x.foo.foo.foo"),
        ("# ------------------------------", "# ------------------------------"),
        ("[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0", "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0"),
        ("", ""),
    ],
)
def test_repeated_end(text: str, left: str) -> None:
    assert cut_repeated_end(text, site_at("^")) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x = 1\n^", "# ", ""),
        ("x = 1\n^", "y = 2\n#\n#", "y = 2"),
        ("x = 1\n^", "# a\n#\n# b", "# a\n#\n# b"),
        ("x^", " =", ""),
        ("x^", ".", ""),
        ("x = ^", '"', ""),
        ("x = ^", '""', '""'),
        ("f(x^", ")", ")"),
        ("from a import ^", "*", "*"),
        ("def f() -> None: ^", "...", "..."),
        ("x = (a^", " +", " +"),
        ("# the end^", ".", "."),
        ("s = 'a^", "'", "'"),
    ],
)
def test_trivial(code: str, text: str, left: str) -> None:
    assert drop_trivial(text, site_at(code)) == left


@pytest.mark.parametrize(
    ("code", "language", "text", "left"),
    [
        ("x = 1\n^", "c", "//", ""),
        ("x = 1\n^", "c", "///", ""),
        ("for (i = 0; i < n; i^", "c", "++", "++"),
        ("if (x) ^", "c", "{", "{"),
        ("# Title\n^", "markdown", "#", "#"),
        ("/* the end ^", "c", "*/", "*/"),
    ],
)
def test_trivial_elsewhere(code: str, language: str, text: str, left: str) -> None:
    assert drop_trivial(text, site_at(code, language)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("x^", " = 1  \n\n", " = 1"),
        ("x^", " \n\t", ""),
        ("x = ^y", "1 + ", "1 + "),
        ("x = ^y", "1 +  ", "1 + "),
        ("x = ^y", "1 + \n", "1 +"),
        ("x = ^y", "1 +\u2028 ", "1 +"),
    ],
)
def test_blank(code: str, text: str, left: str) -> None:
    assert trim_blank(text, site_at(code)) == left


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
