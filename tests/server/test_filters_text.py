"""Filters that look at the text and its line: what they cut, and what they must leave.

A case is code with the cursor at ^, what the model wrote there, and what is left of it.
"""

from __future__ import annotations

import pytest

from tests.support.sites import site_at
from velospec_lsp.filters import apply_filters
from velospec_lsp.filters.blank import trim_blank
from velospec_lsp.filters.chat import strip_chat
from velospec_lsp.filters.indentation import drop_repeated_indentation
from velospec_lsp.filters.leading_space import drop_doubled_space
from velospec_lsp.filters.line_end import cut_repeated_end
from velospec_lsp.filters.repetition import cut_repeated_lines
from velospec_lsp.filters.sentinel import cut_at_sentinel
from velospec_lsp.filters.trivial import drop_trivial
from velospec_lsp.filters.unfinished import drop_unfinished


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
        ("key=None,", "key=None,"),
        ("x = 'a'", "x = 'a'"),
        ("x = 'a' + be", "x = 'a'"),
        ("foo()", "foo()"),
        ("\n    foo.ba", "\n    foo"),
        ("retu", "retu"),
        ("a = 1\ndef f():\n    retu", "a = 1"),
        ("a = 1\n\n@cache\ndef f", "a = 1"),
        ("def f():\n    retu", "def f():"),
        (".st_size and not full", ".st_size"),
        ("x = {\n    'a': 1,\n    'b", "x = {\n    'a': 1,"),
        ("a = 1\nb = f(\n    c,\n    d", "a = 1"),
        ("b = f(\n    c,\n    d", "b = f(\n    c,"),
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
        ("foo(1)\nbar(1, 2)\nbar(1, 2)", "foo(1)\nbar(1, 2)\nbar(1, 2)"),
        ("foo(1)\nbar(first)\nbar(first)", "foo(1)\nbar(first)"),
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
