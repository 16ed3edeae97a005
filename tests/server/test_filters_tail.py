"""What a completion replaces of the text right of the cursor."""

from __future__ import annotations

import pytest

from tests.support.sites import query_at, site_at
from velospec_lsp.completion.languages import language_of
from velospec_lsp.completion.offer import make_offer
from velospec_lsp.completion.tail import covers


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
    assert covers(text, tail, language_of("python")) is covered


def test_ranges() -> None:
    def offered(code: str, typed: str, text: str) -> tuple[str, int, int]:
        asked = query_at(code)
        offer = make_offer("v1", typed, text, asked, site_at(code))
        assert offer.start.line == offer.end.line == asked.cursor.line
        return offer.text, offer.start.index, offer.end.index

    assert offered("x = ^", "", "1") == ("1", 4, 4)
    assert offered("x = 12^", "12", "3") == ("123", 4, 6)
    assert offered("print(x^)", "x", ")") == ("x)", 6, 8)
    assert offered("f(a^) + 1", "a", ", b") == (", b", 3, 3)
    assert offered("if x:\n    pa^", "\n    pa", "ss") == ("    pass", 0, 6)


@pytest.mark.parametrize(
    ("language", "text", "tail", "covered"),
    [
        ("rust", "&'a x)", ")", True),
        ("python", "&'a x)", ")", False),
        ("c", "')')", ")", True),
        ("markdown", "it's here)", ")", True),
        ("html", 'a">', '">', True),
        ("javascript", "a`)", "`)", True),
        ("javascript", "x).then(y);", ");", True),
        ("python", 'a"""', '"""', True),
        ("python", 'a" """', '"""', True),
        ("python", 'a""', '"""', False),
    ],
)
def test_what_covers_a_tail_in_other_languages(language: str, text: str, tail: str, covered: bool) -> None:
    assert covers(text, tail, language_of(language)) is covered
