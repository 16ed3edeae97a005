"""What the syntax rules see of strings and comments."""

from __future__ import annotations

import pytest

from velospec.proposers.syntax_rules import read
from velospec.proposers.syntax_rules.lexer import CODE, Lexer

QUOTES = '"""'


def visible(language: str, text: str) -> tuple[str, bool]:
    """What patterns see of `text`, and whether its end is code."""
    lexer, mode, seen = Lexer(read(language).lexis), CODE, bytearray()
    for byte in text.encode():
        mode, code = lexer.step(mode, byte)
        if code:
            seen.append(byte)
    return seen.decode(), mode.code


@pytest.mark.parametrize(
    ("language", "text", "expected", "code"),
    [
        ("python", "a = 'b'", "a = ''", True),
        ("python", "a = 'b", "a = '", False),
        ("python", r"a = '\'b' + c", "a = '' + c", True),
        ("python", r"a = '\\' + c", "a = '' + c", True),
        ("python", "a = 'b\nc", "a = '\nc", True),  # the quote was never closed
        ("python", "a = '' + b", "a = '' + b", True),
        ("python", f"{QUOTES}a 'b' \"c\"\nd{QUOTES}\ne", '""\ne', True),
        ("python", f"{QUOTES}a\n", '""', False),
        ("python", f'{QUOTES}a""b', '""', False),
        ("python", "'''a\"\"\"b''' + c", "'' + c", True),
        ("python", "a  # b 'c'\nd", "a  \nd", True),
        ("python", "a  # b", "a  ", False),
        ("python", "'#' + a", "'' + a", True),
        ("javascript", "a = `b\n${c}` + d", "a = `` + d", True),
        ("javascript", "a / b // c 'd\ne", "a / b /\ne", True),
        ("javascript", "a /* b\n' */ c", "a / c", True),
        ("javascript", "a /* b **", "a /", False),
        ("javascript", "a /* b **/ c", "a / c", True),
        ("go", "a := `b\\` + c", "a := `` + c", True),
        ("go", "r := '\"' + a", "r := '' + a", True),
        ("rust", "fn f<'a>(b: &'a str)", "fn f<'>(b: &' str)", True),
        ("rust", "let c = 'c';", "let c = '';", True),
        ("rust", r"let c = '\n';", "let c = '';", True),
        ("rust", "let c = 'é';", "let c = '';", True),
        ("rust", 'r#"a"b"# + c', 'r#" + c', True),
        ("rust", 'let s = "a\nb', 'let s = "', False),
        ("java", f'{QUOTES}\na "b"\n{QUOTES};', '"";', True),
        ("c", "'\"' + a", "'' + a", True),
        ("sql", "a = 'it''s' -- b\nc", "a = '''' -\nc", True),
        ("html", "<a b=\"c > d\">it's<!-- <p> -->e", "<a b=\"\">it's<!-e", True),
        ("html", '<a b="c', '<a b="', False),
        ("json", '{"a b": "c\\"d"}', '{"": ""}', True),
    ],
)  # fmt: skip
def test_contents_of_strings_and_comments_are_not_seen(
    language: str, text: str, expected: str, code: bool
) -> None:
    assert visible(language, text) == (expected, code)
