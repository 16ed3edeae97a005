"""What a piece of text opens and does not close, in several languages."""

from __future__ import annotations

import pytest

from velospec_lsp.completion.languages import language_of
from velospec_lsp.completion.outline import Bracket, outline, outline_before, unclosed


def left_over(text: str, language: str, start: str = "") -> tuple[str, str, str]:
    """The closers wanted, the closers too many, and what opens the string or comment at the end."""
    facts = language_of(language)
    begun = next((span for span in (*facts.comments, *facts.strings) if span.opener == start), None)
    found = outline(text, facts, begun)
    return (
        "".join(bracket.closer for bracket in found.opened),
        "".join(bracket.closer for bracket in found.closed),
        found.inside.opener if found.inside else "",
    )


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "f(a, [b", (")]", "", "")),
        ("python", "a) + b]", ("", ")]", "")),
        ("python", "x = '(' # (", ("", "", "#")),
        ("python", "x = '(' # (\n", ("", "", "")),
        ("python", 'x = """a\n(', ("", "", '"""')),
        ("python", 'x = """a"b""" + (', (")", "", "")),
        ("python", "x = 'a\\'(", ("", "", "'")),
        ("python", "x = 'a\\", ("", "", "'")),
        ("python", "it's\n(", (")", "", "")),
        ("c", "c = '(' + '\\'' + '\\x28'; /* ( */ // (", ("", "", "//")),
        ("c", "/* (\n", ("", "", "/*")),
        ("cpp", "n = 1'000'000 + (", (")", "", "")),
        ("rust", "fn f<'a>(x: &'a str, c: char) { '{'", ("}", "", "")),
        ("javascript", "x = `a\n${b} (`; y = /[/(]/; z = a / (b", (")", "", "")),
        ("typescript", "x = { 'a': [", ("}]", "", "")),
        ("lua", "x = [[ ( ]] --[[ ( ]] -- (", ("", "", "--")),
        ("sql", "SELECT 'it''s (' -- (\n(", (")", "", "")),
        ("shellscript", 'if [ "$#" -gt "${#x}" ]; then case $1 in a) f {', ("}", "", "")),
        ("yaml", "a: don't # (\nb: [", ("]", "", "")),
        ("json", '{"a (": [', ("}]", "", "")),
        ("css", "a[href='('] {", ("}", "", "")),
        ("html", "<!-- (", ("", "", "<!--")),
        ("markdown", "(it's [", ("", "", "")),
        ("brainfuck", "f(it's", (")", "", "")),
    ],
)
def test_what_is_left_over(language: str, text: str, expected: tuple[str, str, str]) -> None:
    assert left_over(text, language) == expected


@pytest.mark.parametrize(
    ("start", "text", "expected"),
    [
        ("'", "a (' + (", (")", "", "")),
        ("'", "a (", ("", "", "'")),
        ("'", "a (\n(", (")", "", "")),
        ('"""', "a\n(", ("", "", '"""')),
        ('"""', 'a\n(""")', ("", ")", "")),
        ("#", "a (", ("", "", "#")),
        ("#", "a (\n)", ("", ")", "")),
    ],
)
def test_a_piece_may_begin_within_a_string_or_comment(
    start: str, text: str, expected: tuple[str, str, str]
) -> None:
    assert left_over(text, "python", start) == expected


def test_what_closes_another_bracket_than_the_last_is_told() -> None:
    facts = language_of("python")
    assert outline("f(a]", facts).crossed == 3
    assert outline("[f(a]", facts).crossed == 4
    assert outline("[f(a)]", facts).crossed is None


def test_a_bracket_at_the_start_of_a_line_closes_nothing_deeper() -> None:
    opened = [Bracket("}", 0, 0), Bracket("}", 9, 2)]
    assert unclosed(opened, [Bracket("}", 0, 0)]) == [opened[1]]
    assert unclosed(opened, [Bracket("}", 0, 2)]) == [opened[0]]
    assert unclosed(opened, [Bracket("}", 0, None)]) == [opened[0]]
    assert unclosed(opened, [Bracket(")", 0, 0)]) == opened[::-1]


@pytest.mark.parametrize(
    ("window", "opened"),
    [
        ('of a docstring (\n    """\n    x = f(', ")"),
        ('x = 1\ndef f():\n    """Say (\n    more."""\n    y = [', "]"),
        ('def f():\n    """\n    Say (\n    """\n    y = [', "]"),
        ('end of it.""" + (\n', ")"),
        ("x = (\n", ")"),
        ('"""\nx = f(\n\ndef g():\n    """Say it."""\n', ")"),
        ('"""\nSay (\n\nmore.\n"""\nx = [', "]"),
    ],
)
def test_a_window_may_begin_within_a_docstring(window: str, opened: str) -> None:
    found = outline_before(window, language_of("python"), from_start=False)
    assert "".join(bracket.closer for bracket in found.opened) == opened
