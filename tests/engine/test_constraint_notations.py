"""What whitespace, beginnings, calls, EBNF and regular expressions mean, with every grammar engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.grammar_cases import (
    TEXTS,
    VOCABULARY,
    F,
    G,
    accepts,
    allowed,
    compiled,
    compiler,
    is_prefix,
    schema,
    seen,
    tags,
    taken,
)
from tests.support.schema_engines import ENGINES
from velospec.core.errors import GrammarError
from velospec.core.grammar import LONGEST_WHITESPACE, Grammar, GrammarKind, Tag, Tags, Whitespace


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    compiler(request.param)
    return str(request.param)


@pytest.mark.parametrize(("whitespace", "right", "wrong"), [
    (
        Whitespace.SPACED,
        ['{"a": [1, 2], "b": {"c": {}}}', "[]", "[[], {}]"],
        ['{"a":1}', '{"a": 1,"b": 1}', '{"a" : 1}', "[1,2]", "[ 1]", "{ }", "[1]\n", " 1", '{"a":  1}'],
    ),
    (Whitespace.COMPACT, ['{"a":[1,2],"b":{"c":{}}}', "[]"], ['{"a": 1}', "[1, 2]", "{ }", "[1 ]"]),
    (
        Whitespace.FLEXIBLE,
        [
            '{"a":[1,2],"b":{}}', '{"a": [1, 2]}', '{\n\t"a" :\r\n [ 1 , 2\n] }', "{ }", "[\n]",
            "[" + LONGEST_WHITESPACE * " " + "1]",
        ],
        ["[" + (LONGEST_WHITESPACE + 1) * " " + "1]", "[\u00a01]", "[\v1]", " {}", "{} "],
    ),
])  # fmt: skip
@pytest.mark.parametrize("kind", [GrammarKind.JSON, GrammarKind.JSON_SCHEMA])
def test_whitespace_is_what_the_policy_says(
    engine: str, kind: GrammarKind, whitespace: Whitespace, right: Sequence[str], wrong: Sequence[str]
) -> None:
    grammar = Grammar(kind, "{}" if kind is GrammarKind.JSON_SCHEMA else "", whitespace)
    made = compiler(engine).compile(grammar)
    assert [text for text in right if not accepts(made.matcher(), text)] == []
    assert [text for text in wrong if accepts(made.matcher(), text)] == []


def test_a_weakened_schema_leaves_out_what_cannot_be_enforced(engine: str) -> None:
    unique = schema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
    with pytest.raises(GrammarError, match="#/uniqueItems"):
        compiler(engine).compile(unique)
    weak = compiler(engine).compile(replace(unique, weaken=True))
    assert accepts(weak.matcher(), "[1, 1]")
    assert not accepts(weak.matcher(), '["a"]')


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_an_answer_goes_on_behind_any_beginning(engine: str, name: str, text: str) -> None:
    data = text.encode()
    walked = compiled(engine, name).matcher()
    for place in range(0, len(data), 3):
        matcher = compiled(engine, name).matcher(data[:place])
        assert seen(matcher) == seen(walked)
        for byte in data[place : place + 3]:
            walked.accept(byte)


def test_a_beginning_that_does_not_fit_is_told_by_its_place(engine: str) -> None:
    with pytest.raises(GrammarError, match="behind its character 9"):
        compiled(engine, "an object").matcher(b'{"name": 1')
    with pytest.raises(GrammarError, match="behind its character 3"):
        compiled(engine, "any JSON").matcher('"é"x'.encode())


TAGGED = [  # the grammar, what is complete, what may yet become so, and what is refused
    (
        tags(),
        ["", "the", "a <tool", F, f"a{F}b{G}c", f"{F}{F}", "<<", f"<tool_{F}"],
        [f"{F}<tool_call>", "<tool_call>", f"<{F[:-1]}"],
        ["<tool_call>x", f"{F}<tool_call>a", "a<tool_call> ", '<tool_call>\n{"name": "h'],
    ),
    (
        tags(at_least_one=True),
        [F, f"a{F}", f"{F}a", f"a{F}b{G}c"],
        ["", "the", "a <tool", F[:-1]],
        ["<tool_call>x", f"{F}<tool_call>a"],
    ),
    (tags(parallel=False), ["", "the", F, f"a{F}"], [F[:-1]], [f"{F}a", f"{F}{F}", "<tool_call>x"]),
    (tags(parallel=False, at_least_one=True), [F, f"a{F}"], ["", "a", F[:-1]], [f"{F}a", f"{F}{F}"]),
    (tags(free_text=False), [F, f"{F}{G}"], ["", F[:-1]], ["a", f"{F}a", f"{F} {G}"]),
    (tags(free_text=False, separator="; "), [F, f"{F}; {G}"], ["", f"{F}; "], ["a", f"{F}{G}", f"; {F}"]),
    (tags(free_text=False, parallel=False), [F, G], [""], [f"{F}{G}", "a"]),
    (
        tags(around=("[", "]"), separator=", "),
        ["", "a[b", f"[{F}]", f"a[{F}, {G}]b[{G}]", F[:5], F],
        [f"[{F}", f"[{F}, ", "[<tool_call>"],
        [f"[{F},{G}]", "[<tool_call>x", f"[{F}x"],
    ),
    (
        tags(free_text=False, around=("[", "]"), separator=", "),
        [f"[{F}]", f"[{F}, {G}]"],
        ["", "[", f"[{F}"],
        ["a", F, f"[{F}]a", "[]"],
    ),
]


@pytest.mark.parametrize(("grammar", "complete", "open_", "refused"), TAGGED)
def test_calls_stand_where_the_tags_say(
    engine: str, grammar: Grammar, complete: list[str], open_: list[str], refused: list[str]
) -> None:
    made = compiler(engine).compile(grammar)
    assert [text for text in complete if not accepts(made.matcher(), text)] == []
    assert [text for text in open_ if not is_prefix(made.matcher(), text)] == []
    assert [text for text in open_ if accepts(made.matcher(), text)] == []
    assert [text for text in refused if is_prefix(made.matcher(), text)] == []


@pytest.mark.parametrize("free_text", [True, False])
def test_calls_written_with_control_tokens_are_reached_by_id(engine: str, free_text: bool) -> None:
    mark = VOCABULARY.mark("[CALL]")
    call = Tag('[CALL]f<|tool|>{"a": ', '{"type": "integer"}', "}")
    made = Tags((call,), "[CALL]", free_text=free_text, separator=" ")
    matcher = compiler(engine).compile(Grammar(GrammarKind.TAGS, tags=made)).matcher()
    assert mark in allowed(matcher)
    ids = [mark, *VOCABULARY.encode("f"), VOCABULARY.mark("<|tool|>"), *VOCABULARY.encode('{"a": 12}')]
    for token in ids:
        assert matcher.accept(token)
        assert allowed(matcher) == taken(matcher)
    assert matcher.accepting
    matcher.rollback(len(ids))
    spelled = list(b"[CALL]f<|tool|>")
    assert matcher.valid(spelled) == (len(spelled) if free_text else 0), "text is no control token"


EBNF = [
    (r'root ::= "\x41b\u00e9\U0001F600a\n"', ["Abé😀a\n"], ["Ab"]),
    (r'root ::= [^"\\\x00-\x1F]+', ["é 😀 ]"], ['"', "\\", "\n", ""]),
    (r"root ::= [\]\[^-]+", ["]", "[^-"], ["\\", "a"]),
    ('root ::= . "b" # any character, a "new line" [too]', ["ab", "\nb", "😀b"], ["b", "aab"]),
    (
        'root ::= (\n  "a" |\n  item-list\n)\nitem-list ::= "- " [a-z]{2,3} item-list?',
        ["a", "- abc- ab"],
        ["- a"],
    ),
    ('root ::= root "a" | "b"', ["b", "baa"], ["a", "ab"]),
    ('root ::= "a"* ("b" | "")', ["", "aab", "b"], ["ba"]),
    ('root ::= ("a"{2}){1,2} ( ("+)*" "b"+ ) )* ([*)]+)?', ["aa", "aaaa", "aa+)*b+)*bb*)"], ["aaa", "aa+)*"]),
]
REGULAR = [
    (r"\d+", ["12"], ["", "1a", "٣"]),
    (r"^\w[^\d]$|x$", ["aé", "_\n", "x"], ["éa", "a1", "xxx"]),
    (r"(?:[a-c.-]{2,3})?/\"", ['/"', 'a-./"'], ['a/"', 'abca/"']),
    (r"\x41\u00e9\p{Lu}😀.", ["AéÄ😀a"], ["AéÄ😀\n", "Aéä😀a"]),
    ("a*?b+?", ["aabb", "b"], ["a"]),
    ("", [""], ["a"]),
]


@pytest.mark.parametrize(
    ("kind", "source", "right", "wrong"),
    [
        *((GrammarKind.EBNF, *case) for case in EBNF),
        *((GrammarKind.REGEX, *case) for case in REGULAR),
    ],
)
def test_notations_mean_the_same_to_every_engine(
    engine: str, kind: GrammarKind, source: str, right: list[str], wrong: list[str]
) -> None:
    made = compiler(engine).compile(Grammar(kind, source))
    assert [text for text in right if not accepts(made.matcher(), text)] == []
    assert [text for text in wrong if accepts(made.matcher(), text)] == []


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar(GrammarKind.JSON_SCHEMA, "{"),
        schema({"type": "string", "minLength": 3, "maxLength": 2}),
        Grammar(GrammarKind.EBNF, 'root ::= "a'),
        Grammar(GrammarKind.EBNF, 'root ::= "a" missing'),
        Grammar(GrammarKind.EBNF, 'other ::= "a"'),
        Grammar(GrammarKind.EBNF, 'start: "a"'),
        Grammar(GrammarKind.EBNF, r'root ::= "\q"'),
        Grammar(GrammarKind.REGEX, "(a"),
        Grammar(GrammarKind.REGEX, r"a\b"),
        Grammar(GrammarKind.REGEX, "(?=a)a"),
        Grammar(GrammarKind.REGEX, "a^b"),
        Grammar(GrammarKind.TAGS),
    ],
)
def test_a_grammar_that_cannot_be_read_is_refused_with_a_remedy(engine: str, grammar: Grammar) -> None:
    with pytest.raises(GrammarError) as refused:
        compiler(engine).compile(grammar)
    assert refused.value.remedy
    assert "/project/" not in str(refused.value)
