"""Lexemes, brackets, strings and comments against tree-sitter on real files, and however the text is cut."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.syntax_trees import Tree, trees
from velospec.proposers.structure.lexing import Kind, Lexeme, State, Within, lexer

FILES = {"python": 80, "cpp": 50, "c": 30, "typescript": 40}  # 200
CUTS = 40

TEXTS = {
    "python": b"f\"a{b:>{w}}{{c\" + rb'\\'x' # hi\ndef f(a='''d \"x\" ''', *, b=...):\n  1e-5+.5\n\"\"\"a",
    "javascript": b"#!x\na = `x ${b + `y${c}`} z`; // c\nlet r = x / 2 / /a[/]b\\/c/gi.t('don\\'t');\n/* a",
    "rust": b"fn f<'a>(x: &'a str) { let r = br#\"a\"b\"#; '\\u{41}'; '\\'' /* a /* b */ c */ } 1..2 x.0",
    "cpp": b's = R"xx(a)" )xx"; int n = 1\'000; c = L\'a\'; #include <a/b.h>\n x->y <=> z; "\\"" 0xFF',
    "java": b'String s = """\n a "b" \\""" c"""; char c = \'"\'; @Override // x\nint a = b >>> 2;',
    "go": b"s := `a\\`; r := '\\''; x <- c /* y */ &^= 2",
    "sql": b"SELECT 'it''s' -- x\nFROM \"t\" WHERE a <> b /* c */;",
    "json": b'{"a": [1, -2.5e+3, "b\\"c"], "d": null}',
    "": b"x = 'a' + \"b\nc = (d -> e)",
}

GARBAGE = (
    *(bytes((byte,)) for byte in b"'\"\\`}{/*#\nrf -()[]\xc3\xa9"),
    *(b"${", b"\t\n", b"x1", b"1e"),
)


def open_of(state: State) -> str:
    names = {Within.STRING: "s", Within.COMMENT: "c"}
    return "".join(names.get(frame.within, frame.opener[-1:].decode()) for frame in state.stack)


def read(language: str, pieces: Iterable[bytes]) -> tuple[State, list[Lexeme]]:
    reader, state, found = lexer(language), State(), list[Lexeme]()
    for piece in pieces:
        state, more = reader.feed(state, piece)
        found += more
    state, more = reader.peek(state)
    return state, [*found, *more]


def spans(lexemes: Iterable[Lexeme]) -> set[tuple[int, int]]:
    ends = itertools.accumulate(len(lexeme.lead) + len(lexeme.text) for lexeme in lexemes)
    return {(end - len(lexeme.text), end) for end, lexeme in zip(ends, lexemes, strict=True)}


def in_opener(tree: Tree, cut: int) -> bool:
    """Whether `cut` may be in the midst of what opens a string or comment."""
    place = bisect_right(tree.changes, (cut, "\uffff"))
    return any(
        at <= cut < at + 2 and what[-1:] in {"s", "c"} for at, what in tree.changes[max(0, place - 2) : place]
    )


@pytest.mark.parametrize(("language", "count"), FILES.items())
def test_what_is_open_equals_tree_sitters_on_real_files(language: str, count: int) -> None:
    chance = random.Random(language)  # noqa: S311  (test data)
    files = cuts = 0
    for tree in trees(language, count):
        files += 1
        reader, state, read_up_to = lexer(language), State(), 0
        for cut in sorted(chance.sample(range(1, len(tree.source)), CUTS)):
            state, _ = reader.feed(state, tree.source[read_up_to:cut])
            read_up_to = cut
            if in_opener(tree, cut) or any(start < cut <= end for start, end in tree.opaque):
                continue
            expected = tree.changes[bisect_right(tree.changes, (cut, "\uffff")) - 1][1]
            assert open_of(reader.peek(state)[0]) == expected, tree.source[max(0, cut - 80) : cut]
            cuts += 1
    assert files == count
    assert cuts > 0.8 * CUTS * count


@pytest.mark.parametrize(("language", "count"), FILES.items())
def test_lexemes_end_where_tree_sitters_leaves_do(language: str, count: int) -> None:
    names = {"identifier", "property_identifier", "type_identifier", "field_identifier"}
    numbers = {"integer", "float", "number", "number_literal"}
    operators = {
        "=",
        "==",
        "!=",
        "<=",
        "+=",
        "->",
        "=>",
        "**",
        "//",
        "&&",
        "||",
        "...",
        "===",
        "(",
        "]",
        ",",
        ".",
    }
    checked = 0
    for tree in trees(language, count):
        state, lexemes = read(language, [tree.source])
        assert b"".join(lexeme.lead + lexeme.text for lexeme in lexemes) + state.pending == tree.source
        found = spans(lexemes)
        for leaf in tree.leaves:
            what = tree.changes[bisect_right(tree.changes, (leaf.start, "\uffff")) - 1][1]
            if leaf.type in names | numbers | operators and what[-1:] != "s":
                start = leaf.start + (leaf.type in numbers and tree.source[leaf.start] in b"+-")
                assert (start, leaf.end) in found, tree.source[start - 40 : leaf.end + 10]
                checked += 1
    assert checked > 50 * count


@pytest.mark.parametrize("language", TEXTS)
def test_the_cut_of_a_text_does_not_matter(language: str) -> None:
    text = TEXTS[language]
    whole = read(language, [text])
    assert read(language, (text[i : i + 1] for i in range(len(text)))) == whole
    for cut in range(len(text)):
        assert read(language, [text[:cut], text[cut:]]) == whole


@settings(max_examples=300, deadline=None)
@given(
    language=st.sampled_from(list(TEXTS)),
    pieces=st.lists(st.sampled_from(GARBAGE)),
)
def test_no_text_is_lost_and_no_cut_matters_in_garbage(language: str, pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    state, lexemes = read(language, pieces)
    assert b"".join(lexeme.lead + lexeme.text for lexeme in lexemes) + state.pending == text
    assert not state.pending.strip(b" \t\r\n\f\v\\")
    assert (state, lexemes) == read(language, [text])


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", b'f"a{b["c', "s{[s"),
        ("python", b'f"a{b:>{w', "s{s{"),
        ("python", b'f"{{a', "s"),
        ("javascript", b"`a ${b(`c", "s{(s"),
        ("javascript", b"`a ${b} c", "s"),
    ],
)
def test_embedded_expressions_are_code(language: str, text: bytes, expected: str) -> None:
    assert open_of(read(language, [text])[0]) == expected


def test_kinds() -> None:
    kinds = [(lexeme.text, lexeme.kind) for lexeme in read("python", [b"for x in y[0]: # z\n 'a'"])[1]]
    assert kinds == [
        (b"for", Kind.KEYWORD),
        (b"x", Kind.NAME),
        (b"in", Kind.KEYWORD),
        (b"y", Kind.NAME),
        (b"[", Kind.OPEN),
        (b"0", Kind.NUMBER),
        (b"]", Kind.CLOSE),
        (b":", Kind.OPERATOR),
        (b"#", Kind.COMMENT),
        (b"z", Kind.COMMENT),
        (b"'", Kind.QUOTE),
        (b"a", Kind.TEXT),
        (b"'", Kind.QUOTE),
    ]


def test_an_unfit_closer_is_passed_over_and_a_missing_one_is_supplied() -> None:
    assert open_of(read("c", [b"(]"])[0]) == "("
    assert not open_of(read("c", [b"{ ( }"])[0])
