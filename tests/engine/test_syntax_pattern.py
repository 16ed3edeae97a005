"""The pattern automaton against Python's own regular expressions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec.proposers.syntax_rules.base import INDENTED
from velospec.proposers.syntax_rules.pattern import Automaton, Match, PatternError

LETTERS = st.sampled_from(
    ["a", "b", "1", " ", "(", r"\(", r"\w", r"\i", r"\d", r"\b", ".", "^", r"\t", "[ab]", "[^a\n]"]
)
ATOMS = LETTERS.filter(lambda letter: letter != "(")


def longer(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}{}".format, part, part),
        st.builds("({}|{})".format, part, part),
        st.builds("({}){}".format, part, st.sampled_from(["*", "+", "?"])),
    )


PATTERNS = st.recursive(ATOMS, longer, max_leaves=8)
TEXTS = st.text(alphabet="ab1 (\n\x01", max_size=20)


def as_regular_expression(pattern: str) -> re.Pattern[bytes]:
    """The same pattern in the notation of `re`, to be found at the end of a text."""
    meanings = {
        r"\w": r"[A-Za-z0-9_\x80-\xff]",
        r"\i": r"[A-Za-z_\x80-\xff]",
        r"\d": "[0-9]",
        r"\b": r"[^A-Za-z0-9_\x80-\xff]",
        "[^a\n]": "[^a\n]",
        "^": r"(?:\n\x01?)",
        r"\t": r"(?:\n\x01)",
    }
    signs = re.compile("|".join(map(re.escape, meanings)))
    out = signs.sub(lambda sign: meanings[sign.group()], pattern)
    return re.compile(f"(?:{out})\\Z".encode("latin-1"), re.ASCII)


def run(automaton: Automaton, text: str) -> list[list[Match]]:
    """What matches after each letter."""
    state, found = 0, []
    for byte in text.encode():
        state = automaton.step(state, byte)
        found.append(automaton.matches(state))
    return found


@given(PATTERNS, TEXTS)
def test_matches_what_a_regular_expression_finds_at_each_end(pattern: str, text: str) -> None:
    expression = as_regular_expression(pattern)
    automaton = Automaton()
    if expression.search(b""):
        with pytest.raises(PatternError):
            automaton.add(0, pattern, [(120, 1)])
        return
    automaton.add(0, pattern, [(120, 1)])
    expected = [bool(expression.search(text[: end + 1].encode())) for end in range(len(text))]
    assert [bool(found) for found in run(automaton, text)] == expected


def test_a_text_that_is_written_in_part_is_known() -> None:
    automaton = Automaton()
    automaton.add(7, "for", [(ord(letter), end) for end, letter in enumerate(" in", start=1)])
    assert run(automaton, "for i") == [[], [], [Match(7, 0)], [Match(7, 1)], [Match(7, 2)]]
    assert run(automaton, "for in")[-1] == []


def test_a_newline_in_a_text_may_be_followed_by_an_indented_line() -> None:
    automaton = Automaton()
    automaton.add(0, "a", [(10, 1), (98, 2), (99, 3)])
    assert run(automaton, "a\nb")[-1] == [Match(0, 2)]
    assert run(automaton, f"a\n{chr(INDENTED)}b")[-1] == [Match(0, 2)]


def test_several_rules_match_at_once() -> None:
    automaton = Automaton()
    automaton.add(0, r"\w", [(120, 1)])
    automaton.add(1, "ab", [(121, 1)])
    assert run(automaton, "ab")[-1] == [Match(0, 0), Match(1, 0)]


@pytest.mark.parametrize("pattern", ["(a", "a)", "[a", "*a", "é", "", "a?", "(a|b*)"])
def test_a_mistake_in_a_pattern_is_reported(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"pattern"):
        Automaton().add(0, pattern, [(120, 1)])
