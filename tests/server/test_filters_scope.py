"""Filters that keep a completion within its place: the block it is in, brackets and quotes in balance."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sites import query_between, site_at
from velospec_lsp.completion.offer import make_offer
from velospec_lsp.completion.site import site_of
from velospec_lsp.filters import apply_filters
from velospec_lsp.filters.balance import cut_unclosed
from velospec_lsp.filters.brackets import cut_unopened
from velospec_lsp.filters.scope import limit_scope


@pytest.mark.parametrize(
    ("code", "language", "text", "left"),
    [
        ("def f():\n    ^", "python", "return 1\n\ndef g():\n    pass", "return 1"),
        ("def f():\n    ^", "python", "if x:\n        y()\n    return 1", "if x:\n        y()\n    return 1"),
        ("if x^", "python", ":\n    y()\nz()", ":\n    y()"),
        ("if x^", "python", ":\n    y()\nelse:\n    z()\nw()", ":\n    y()\nelse:\n    z()"),
        ("if x:\n    y^", "python", "()\nelse:\n    z()", "()"),
        ("def f^", "python", "(\n    a,\n):\n    return a\nx = 1", "(\n    a,\n):\n    return a"),
        ("f(\n    a,\n    ^", "python", "b,\n)\nx = 1", "b,\n)"),
        ("f(\n    a,\n    ^\n)", "python", "b,\n)\nx = 1", "b,"),
        ("    s = ^", "python", '"""\nno indentation\n"""\n    x = 1', '"""\nno indentation\n"""\n    x = 1'),
        ("a: ^", "yaml", "1\nb:\n  c: 2", "1\nb:\n  c: 2"),
        ("  a: ^", "yaml", "1\nb: 2", "1"),
        ("if (x) ^", "c", "{\n  y();\n}\nz();", "{\n  y();\n}"),
        ("if (x)\n^", "c", "{\n  y();\n}\nelse\n{\n  z();\n}", "{\n  y();\n}\nelse\n{\n  z();\n}"),
        (
            "  if (x) ^",
            "c",
            "{\n    y();\n  } else {\n    z();\n  }\n}",
            "{\n    y();\n  } else {\n    z();\n  }\n}",
        ),
        (
            "  if (x) ^\n}",
            "c",
            "{\n    y();\n  } else {\n    z();\n  }\n}",
            "{\n    y();\n  } else {\n    z();\n  }",
        ),
        ("f() {\n  ^", "javascript", "x();\n}\ng() {\n}", "x();\n}"),
        ("if (a) {\n  ^", "javascript", "x();\n} else {\n  y();\n}\nz();", "x();\n} else {\n  y();\n}"),
        ("  ^", "c", "a();\n#ifdef B\n  b();\n#endif\n  c();", "a();\n#ifdef B\n  b();\n#endif\n  c();"),
        ("if x then\n  ^", "lua", "y()\nend\nz()", "y()\nend"),
        ("if x then\n  ^\nend", "lua", "y()\nend\nz()", "y()"),
        ("if x then ^", "lua", "\n  y()\nelse\n  z()\nend\nw()", "\n  y()\nelse\n  z()\nend"),
        ("def f^", "ruby", "\n  g\nrescue\n  h\nend\n\ndef i", "\n  g\nrescue\n  h\nend"),
        ("if x; then^", "shellscript", "\n  y\nfi\nz", "\n  y\nfi"),
        ("if ^\n    offset = 0\nelse:", "python", "a:\n    x()\nelse:\n    y()", "a:"),
        ("  if (^\n    x();\n  }", "c", "a) {\n    y();\n  }", "a) {"),
        ("def f^\n    x()", "python", "(\n    a,\n):\n    y()", "(\n    a,\n):"),
        ("x = {^\n    'b': 2}", "python", "\n    'a': 1,", "\n    'a': 1,"),
        ("- a ^", "markdown", "b\n  c\nd", "b\n  c\nd"),
    ],
)
def test_scope(code: str, language: str, text: str, left: str) -> None:
    assert limit_scope(text, site_at(code, language)) == left


@pytest.mark.parametrize(
    ("code", "language", "text", "left"),
    [
        ("f(^", "python", "x)", "x)"),
        ("f(^", "python", "x))", "x)"),
        ("f(^\n  y)", "python", "x,\n  z)", "x,\n  z"),
        ("f(\n    a,\n    ^\n)\n", "python", "b)", "b"),
        ("f(\n    a,\n    ^\ng()\n", "python", "b)", "b)"),
        ("x = ^", "python", "1]", "1"),
        ("x = ^", "python", "f(1]", "f(1"),
        ("x = ^", "python", "')' + '}'", "')' + '}'"),
        ("x = ^", "python", "1  # :)", "1  # :)"),
        ("# see ^", "python", "a)", "a)"),
        ("s = '(^", "python", ")'", ")'"),
        ('"""Say (^\n"""\n', "python", "it)", "it)"),
        ("x = (1 + ^\ny = 2\n", "python", "2)", "2)"),
        ("function f() {\n  if (x) {\n    y();\n  ^\n}\n", "javascript", "}", "}"),
        ("function f() {\n  if (x) {\n    y();\n  }\n^\n}\n", "javascript", "}\n}", ""),
        ("fn f<'a>(x: &'a str) -> ^\n}", "rust", "&'a str {", "&'a str {"),
        ("let c = ^", "rust", "')';", "')';"),
        ("case x in\n  a^", "shellscript", ") y ;;", ") y ;;"),
        ("Yes ^", "markdown", ":)", ":)"),
        ("f(^ * z)", "python", "x) + g(y", "x) + g(y"),
        ("x = /[(]/.test(^", "javascript", "y)", "y)"),
        ("// it's ^\nf(", "javascript", "fine\ng(x)", "fine\ng(x)"),
    ],
)
def test_unopened_brackets(code: str, language: str, text: str, left: str) -> None:
    assert cut_unopened(text, site_at(code, language)) == left


def test_a_block_begun_far_above_may_be_closed() -> None:
    body = "  call(argument);\n" * 400
    assert cut_unopened("x();\n}", site_at("function f() {\n" + body + "  ^\n", "javascript")) == "x();\n}"
    assert cut_unopened("x();\n}", site_at("  ^\n", "javascript")) == "x();"


def test_brackets_in_a_long_docstring_around_the_start_of_the_window_count_for_nothing() -> None:
    text = '"""Docstring.\n\n' + "An (open bracket.\n" * 400 + '"""\nx = ^\n'
    assert cut_unopened("f(1))", site_at(text)) == "f(1)"


@pytest.mark.parametrize(
    ("code", "language", "text", "left"),
    [
        ("x = ^", "python", "f(a, b)", "f(a, b)"),
        ("x = ^", "python", "f(a, b", "f"),
        ("x = ^", "python", "f(g(a, b)", "f"),
        ("x = ^\n    c)", "python", "f(a, b,", "f(a, b,"),
        ("x = ^\n)", "python", "f(g(a, b", "f(g"),
        ("y = h(^\n    z)", "python", "f(a, b", "f"),
        ("def f^", "python", "(", ""),
        ("def f^\n    a,\n):", "python", "(", "("),
        ("def ^", "python", "f(", "f"),
        ("raise ^\n    more()", "python", "ValueError(", "ValueError"),
        ("x = ^", "python", "[", ""),
        ("x = ^", "python", "'hello", ""),
        ("print(^", "python", "'hello", ""),
        ("print(^)", "python", "f(x", "f"),
        ("x = ^", "python", "a + f'hello", "a"),
        ("x = ^", "python", "'''hello", ""),
        ("x = ^\n'''\n", "python", "'''hello", "'''hello"),
        ("s = 'it^'", "python", " is", " is"),
        ("s = '^", "python", "a' + 'b", "a'"),
        ("describe(^", "javascript", "'a', () => {", "'a', () => {"),
        ("if (x) ^", "c", "{", "{"),
        ("for (i = 0^)", "c", "; i < n; i++) {", "; i < n; i++) {"),
        ("x ^", "c", "= f(a); // (b", "= f(a); // (b"),
        ("  ^", "python", "f(\n    a,", "f(\n    a,"),
        ("We ^", "markdown", "say (that", "say (that"),
        ("it ^", "rust", "is<'a", "is<'a"),
    ],
)
def test_unclosed_brackets(code: str, language: str, text: str, left: str) -> None:
    assert cut_unclosed(text, site_at(code, language)) == left


@pytest.mark.parametrize(
    ("code", "text", "left"),
    [
        ("def add(a, b^)", "):\n    return a + b", "):\n    return a + b"),
        ("print(^)", "'a', b)", "'a', b)"),
        ("x = [^]", "1, 2]", "1, 2]"),
        ("x = {^}", "\n    'a': 1,\n}", "\n    'a': 1,\n}"),
        ("def f():\n    return {^\n", "'a': 1}", "'a': 1}"),
    ],
)
def test_what_an_editor_has_closed(code: str, text: str, left: str) -> None:
    assert apply_filters(text, site_at(code)) == (left, "")


PAIRS = {"(": ")", "[": "]", "{": "}"}
BALANCED = st.recursive(
    st.text("a ,", max_size=3),
    lambda inner: st.lists(
        st.tuples(st.sampled_from("([{"), inner).map(lambda pair: pair[0] + pair[1] + PAIRS[pair[0]]) | inner,
        max_size=4,
    ).map("".join),
    max_leaves=12,
)


def without_partner(text: str) -> set[int]:
    found: set[int] = set()
    opened: list[tuple[str, int]] = []
    for at, char in enumerate(text):
        if char in PAIRS:
            opened.append((PAIRS[char], at))
        elif char in PAIRS.values():
            if opened and opened[-1][0] == char:
                opened.pop()
            else:
                found.add(at)
    return found | {at for _, at in opened}


@given(BALANCED, st.integers(0, 40), st.text("()[]{}a ,", max_size=14))
@settings(max_examples=400, deadline=None)
def test_a_line_in_balance_stays_in_balance(line: str, at: int, text: str) -> None:
    at = min(at, len(line))
    query = query_between(line[:at], line[at:])
    site = site_of(query, 4000, 1000)
    assert site is not None
    left, _ = apply_filters(text, site)
    offer = make_offer("v1", "", left, query, site)
    if left and left.rstrip()[-1] not in PAIRS:  # one that ends so begins something of several lines
        assert without_partner(line[: offer.start.index] + left + line[offer.end.index :]) == set()
