"""Regular expressions of JSON Schema, the sets of strings that they stand for, and the enforced formats."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from velospec.constraints.json_schema.automaton import Automaton
from velospec.constraints.json_schema.formats import FORMATS
from velospec.constraints.json_schema.pattern_nodes import ANYTHING, PatternError
from velospec.constraints.json_schema.patterns import other_than, whole_match, whole_node, write

# Patterns that Python and ECMA 262 read alike, once `$` is written `\Z`.
ALIKE = (
    "", "b", "^b", "b$", "^$", "^a|b$", "(^a|b$)", "^(a|b)c*$", "^[a-c]+$", "^[^a-c]{2,3}$", "^a{2}$",
    "^a{2,}b?$", "a.c", r"^\x61\u0062$", r"^[\]\-a]$", "^(?:ab|cd)*?$", r"\.", "^]$", "^{$", "^a{x$",
    "^(ab|a)(c|bcd)$", "(a|b|)c",
)  # fmt: skip
REFUSED = (
    "(?!a)", "(?<=a)b", "(?i)a", r"(a)\1", r"\bfoo", r"^\Z", "a$b", "(", ")", "[a", "[]", "*a", "a**",
    "a{3,2}", "a{9999}", "[b-a]", r"\u{110000}", r"\cA",
)  # fmt: skip
TEXTS = st.text(alphabet="abcdx{}.-]\n😀", max_size=6)


def fits(pattern: str, text: str) -> bool:
    """As `pattern` is in the common notation."""
    return re.fullmatch(pattern[1:-1], text) is not None


@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_a_rewritten_pattern_matches_what_it_did(text: str) -> None:
    for pattern in ALIKE:
        wanted = re.search(pattern.replace("$", r"\Z"), text) is not None
        assert fits(whole_match(pattern), text) == wanted, pattern


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, numbers=st.tuples(*[st.integers(0, len(ALIKE) - 1)] * 2))
def test_an_automaton_holds_what_is_in_one_pattern_and_not_in_the_other(
    text: str, numbers: tuple[int, int]
) -> None:
    inside, outside = (ALIKE[number] for number in numbers)
    automaton = Automaton([whole_node(inside)], [whole_node(outside)])
    wanted = fits(whole_match(inside), text) and not fits(whole_match(outside), text)
    assert fits(f"^(?:{write(automaton.expression())})$" if not automaton.empty else "^(?!)$", text) == wanted
    assert not (wanted and automaton.empty)


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, texts=st.lists(TEXTS, max_size=4), prefixes=st.lists(TEXTS.filter(bool), max_size=2))
def test_all_strings_but_some(text: str, texts: list[str], prefixes: list[str]) -> None:
    wanted = text not in texts and not text.startswith(tuple(prefixes))
    assert fits(other_than(texts, prefixes), text) == wanted


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_no_set_of_strings_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        whole_match(pattern)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"^\d$", "0 9", "٣ a"),
        (r"^\w$", "a Z _ 5", "é -"),
        (r"^\s$", "\u00a0 \ufeff \u2029", "a \u0085"),
        ("^.$", "a é 😀", "\n \u2028"),
        (r"^\p{Lu}$", "A Ä Я", "a 1 ß"),
        (r"^\P{L}$", "1 -", "a Я"),
        (r"^\ud83d\ude00$", "😀", "x"),
        (r"^\u{1F600}$", "😀", "x"),
        ("^[^]$", "a \n 😀", "ab"),
        (r"^[\s\S]*$", "a\n😀", ""),
    ],
)
def test_classes_are_those_of_ecma_262(pattern: str, matching: str, others: str) -> None:
    for text in filter(None, matching.split(" ")):
        assert fits(whole_match(pattern), text), ascii(text)
    for text in filter(None, others.split(" ")):
        assert not fits(whole_match(pattern), text), ascii(text)


def test_the_rest_of_everything_is_nothing() -> None:
    assert Automaton([ANYTHING], [whole_node("^a"), whole_node("^[^a]"), whole_node("^$")]).empty


FORMATTED = {
    "date": (
        "2020-02-29 2000-02-29 0001-01-01 9999-12-31",
        "2021-02-29 1900-02-29 2021-02-31 2021-13-01 0000-01-01",
    ),
    "time": ("12:00:00Z 23:59:59.123+02:00", "12:00:00 25:00:00Z 12:00:60Z 12:00Z"),
    "date-time": ("2020-01-01T00:00:00Z 2020-02-29T23:59:59.5-11:30", "2020-01-01 2021-02-29T00:00:00Z x"),
    "duration": ("P1D P1W PT5M P1Y2M3DT4H5M6S", "P PT P1Y1W P1DT 1D"),
    "email": ("a@b.c a.b+c@example.org", "a @b a@ a@-b a..b@c a@b."),
    "hostname": ("a.b localhost xn--x a-1.de", "-a a_b a- a..b"),
    "ipv4": ("1.2.3.4 255.255.255.255 0.0.0.0", "256.1.1.1 01.2.3.4 1.2.3"),
    "ipv6": (
        "::1 1:: :: 1:2:3:4:5:6:7:8 fe80::1:2 1:2:3:4:5:6:7::",
        "12345:: 1:2 1::2::3 ::1%eth0 1:2:3:4:5:6:7:8:9",
    ),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "x 123e4567e89b12d3a456426614174000"),
    "uri": ("http://a.b/c urn:x:y mailto:a@b http://[::1]:80/?q#f a:", "a /a //a http://é 1:x"),
    "uri-reference": ("a /a //a.b/c ?q #f a/b:c http://a", "\\ é"),
    "json-pointer": ("/a /a~0b/~1 /", "a /~2"),
}


def test_each_enforced_format_is_tried() -> None:
    assert FORMATTED.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_accepts_only_what_is_valid(name: str) -> None:
    right, wrong = FORMATTED[name]
    checker = Draft202012Validator.FORMAT_CHECKER
    for text in right.split(" "):
        assert fits(whole_match(FORMATS[name]), text), text
        assert checker.conforms(text, name), text
    for text in wrong.split(" "):
        assert not fits(whole_match(FORMATS[name]), text), text
