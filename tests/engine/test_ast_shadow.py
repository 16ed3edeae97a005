"""What the structure obliges to, language by language; never in strings; brackets right in real files."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.following import draft_after, drafts_along, right, spell
from tests.support.syntax_trees import trees
from tests.support.vocabularies import vocabulary
from velospec.backends.scripted import ScriptedVocabulary
from velospec.core.draft import EMPTY
from velospec.proposers.ast_shadow import _PRIORS, AstShadow
from velospec.proposers.structure.duties import Reason
from velospec.proposers.structure.lexing import Lexeme, State, lexer
from velospec.proposers.structure.outline import Outline, advance

BYTES = ScriptedVocabulary(())
CASES = [
    # Python: colons, blocks, exits, closers.
    ("python", "if x:", "\n    "),
    ("python", "class A:\n\tdef f(self):\n\t\tif x:", "\n\t\t\t"),
    ("python", "try", ":\n    "),
    ("python", "if a:\n  b()\nelse", ":\n  "),
    ("python", "def f(a, b)", ":\n    "),
    ("python", "async def f(a)", ":\n    "),
    ("python", "while f(x)", ":\n    "),
    ("python", "while True:\n    if x:\n        break", "\n    "),
    ("python", "while x:\n\tif y:\n\t\tcontinue", "\n\t"),
    ("python", "for x in y:\n    if x:\n        pass\n", "    "),
    ("python", "def f():\n    return g(x)", "\n\n\ndef"),
    ("python", "class A:\n    def f(self):\n        return 1", "\n\n    def"),
    ("python", "def f():\n    pass\n\ndef g():\n    return None", "\n\ndef"),
    ("python", "def f():\n    if x:\n        raise Error('a')", "\n    "),
    ("python", "x = f(g[a", "])\n"),
    ("python", "if f(g(a", ")):\n    "),
    ("python", "    x = f(a)", "\n    "),
    # Nothing is owed there.
    ("python", "x = {a:", ""),
    ("python", "x = y[a:", ""),
    ("python", "def f(a, b):\n    x = a +", ""),
    ("python", "f(\n    a", ""),
    ("python", "if x", ""),
    ("python", "'if x:", ""),
    ("python", "# if x:", ""),
    ("python", '"""\ntry', ""),
    ("python", "f'{a} if x:", ""),
    # C and its like.
    ("c", "int f(void) {", "\n    "),
    ("c", "int f(void)\n{\n\tif (x) {", "\n\t\t"),
    ("c", "int f(void) {\n  int a;\n  for (i = 0; i < n; i++)", " {\n    "),
    ("c", "int f(void) {\n    return 0;", "\n}\n\n"),
    ("c", "int f(void) {\n    while (x) {\n        break;", "\n    }"),
    ("c", "int f(void) {\n    g(h(1", "));\n    "),
    ("c", "int f(void) {\n    if (g(1", ")) {\n        "),
    ("c", "int f(void) {\n    x = 1;", "\n    "),
    ("c", "int f(void) {\n    x = 1;\n}", "\n\n"),
    ("c", "int f(void) {\n    if (x) {\n        y();\n    }", "\n    "),
    ("c", 'char *a = "int f() {', ""),
    ("c", "/* int f() {", ""),
    ("c", "for (int i = 0;", ""),
    ("java", "class A {\n\n    void f() {\n        try", " {\n            "),
    (
        "java",
        "class A {\n    int f() {\n        return 1;\n    }\n\n    int g() {\n        return 2;\n    }",
        "\n\n    ",
    ),
    ("javascript", "function f(a) {\n  return `${g(a", ")"),
    ("javascript", "function f(a)", " {\n  "),
    ("javascript", "const f = (a) => {", "\n  "),
    ("typescript", "if (a) {\n\tb();\n} else", " {\n\t"),
    ("go", "func f() {\n\tfor i := range x {", "\n\t\t"),
    ("go", "func f() int {\n\treturn g(1)", "\n}"),
    ("rust", "fn f() {\n    loop", " {\n        "),
    # Lists.
    ("json", '{\n  "a": 1,\n  "b": "c"', ",\n  "),
    ("json", '{\n  "a": [1,', " "),
    ("json", '[\n  {\n    "a": 1,', "\n    "),
    ("sql", "CREATE TABLE t (\n    a INTEGER,", "\n    "),
    ("sql", "SELECT count(*), f(a", ")"),
    ("sql", "DROP TABLE t;", "\n"),
    ("sql", "SELECT 'a, f(", ""),
    # No language, no structure.
    ("", "if x:", ""),
    ("css", "a {", ""),
    # Markup.
    ("html", "<div>\n  <p>text</", "p>"),
    ("html", "<div>\n  <p>text</p>\n<", ""),
    ("html", "<div>\n  <p>text</p>\n</", "div>"),
    ("html", "<div>\n  <p>text</p>\n</d", "iv>"),
    ("html", '<ul>\n  <li class="a > b">Some text', "</li>"),
    ("html", "<ul>\n  <li>", ""),
    ("html", "<p>a<br>b<img src='x'/>c", "</p>"),
    ("html", "<p>a</", "p>"),
    ("html", "<p>a <!-- </p></", ""),
    ("html", "<p>a <!-- </div> --></", "p>"),
    ("html", '<div><script>if (a < b) { x = "</p>"', ""),
    ("html", "<div><script>a < b</script></", "div>"),
    ("html", '<p title="</', ""),
    ("html", "<!DOCTYPE html>\n<html>\n<p>a < b</", "p>"),
]


@pytest.mark.parametrize(("language", "text", "expected"), CASES)
def test_what_the_structure_obliges_to(language: str, text: str, expected: str) -> None:
    assert draft_after(AstShadow(BYTES, language=language), BYTES, text, limit=60) == expected


@pytest.mark.parametrize("name", ["starcoder", "qwen2", "llama-bpe", "deepseek-coder", "gpt-2", "llama-spm"])
def test_ids_are_those_of_the_place(name: str) -> None:
    known = vocabulary(name)
    text, code = "class A:\n    def f(self):\n        if x:", "\n            return y\n"
    proposer = AstShadow(known, language="python")
    ids = known.encode(text)
    proposer.begin(ids)
    draft = proposer.propose(15).ids
    whole = known.encode(text + code)
    # Where the colon and the line end are one token, the colon alone has nothing to follow it.
    assert bool(draft) == (whole[: len(ids)] == ids)
    assert not draft or tuple(whole[len(ids) : len(ids) + len(draft)]) == draft
    # No id where this vocabulary would have written the bracket and what follows it as one.
    proposer.begin(known.encode("def f()"))
    assert bool(proposer.propose(15)) == (known.encode("def f():")[-1] == known.encode("a :")[-1])


def test_evidence_tells_the_reason() -> None:
    known = BYTES
    proposer = AstShadow(known, language="python")
    reasons = {}
    for text in ("if x:", "try", "def f()", "class A()", "f(a", "f(g(a", "x = f(a)", "x = 'a'"):
        proposer.begin(known.encode(text))
        draft = proposer.propose(15)
        assert 0 < draft.prior < 1
        reasons[text] = (Reason(draft.evidence // 4).name, draft.evidence % 4)
    assert reasons == {
        "if x:": ("BLOCK", 0),
        "try": ("HEADER", 0),
        "def f()": ("DEFINITION", 0),
        "class A()": ("DEFINITION", 1),
        "f(a": ("CLOSE", 1),
        "f(g(a": ("CLOSE", 2),
        "x = f(a)": ("LINE", 0),
        "x = 'a'": ("LINE", 1),
    }


def test_every_reason_has_a_prior() -> None:
    assert set(_PRIORS) == set(Reason)


def test_is_mostly_right_about_the_standard_library() -> None:
    known = vocabulary("starcoder")
    offered: Counter[Reason] = Counter()
    hits: Counter[Reason] = Counter()
    for tree in trees("python", 14):
        ids = known.encode(tree.source.decode())
        for place, draft in drafts_along(AstShadow(known, language="python"), ids, 10):
            reason = Reason(draft.evidence // 4)
            offered[reason] += 1
            hits[reason] += right(draft, ids, place) > 0
    for reason, least in ((Reason.BLOCK, 0.95), (Reason.HEADER, 0.95), (Reason.LEAVE, 0.5)):
        assert offered[reason] > 20, reason
        assert hits[reason] > least * offered[reason], (reason, hits[reason], offered[reason])


@pytest.mark.parametrize("language", ["python", "cpp", "c", "typescript"])
def test_drafts_nothing_in_the_strings_and_comments_of_real_files(language: str) -> None:
    known = vocabulary("starcoder")
    inside = 0
    for tree in trees(language, 4):
        ids = known.encode(tree.source.decode())
        spans = [
            (start, end)
            for (start, what), (end, _) in zip(tree.changes, tree.changes[1:], strict=False)
            if what[-1:] in {"s", "c"} and end - start > 2
        ]
        offsets = [0]
        for token in ids:
            offsets.append(offsets[-1] + len(known.piece(token)))
        drafted = {offsets[place] for place, _ in drafts_along(AstShadow(known, language=language), ids, 1)}
        strictly = {offset for start, end in spans for offset in offsets if start + 2 < offset < end - 1}
        strictly -= {offset for start, end in tree.opaque for offset in strictly if start <= offset <= end}
        assert not drafted & strictly
        inside += len(strictly)
    assert inside > 100


def outlines(language: str, source: bytes) -> list[tuple[Lexeme, Outline]]:
    _, lexemes = lexer(language).feed(State(), source)
    found, outline = [], Outline()
    for lexeme in lexemes:
        outline = advance(outline, lexeme, braces=language != "python")
        found.append((lexeme, outline))
    return found


@pytest.mark.parametrize(("language", "count"), {"python": 40, "cpp": 25, "c": 15, "typescript": 20}.items())
def test_the_outlines_brackets_are_tree_sitters(language: str, count: int) -> None:
    for tree in trees(language, count):
        offset, place, checked = 0, 0, 0
        ends = {leaf.end for leaf in tree.leaves}
        for lexeme, outline in outlines(language, tree.source):
            offset += len(lexeme.lead) + len(lexeme.text)
            while place + 1 < len(tree.changes) and tree.changes[place + 1][0] <= offset:
                place += 1
            expected = tree.changes[place][1]
            if (
                offset not in ends
                or set(expected) & {"s", "c"}
                or any(start <= offset <= end for start, end in tree.opaque)
            ):
                continue
            assert "".join(bracket.sign.decode() for bracket in outline.open) == expected, tree.source[
                :offset
            ][-60:]
            checked += 1
        assert checked > 20


def test_units_of_indentation_are_the_last_seen() -> None:
    source = b"if a:\n  b\nif c:\n    d\nif e:\n\tf\nx = g(\n        h)\nif i:\n"
    units = [outline.layout.unit for lexeme, outline in outlines("python", source) if lexeme.text in b"bdfi"]
    assert units == [b"  ", b"    ", b"\t", b"\t"]


LINES = st.lists(
    st.sampled_from(
        [
            "if x:",
            "\n",
            "    ",
            "\t",
            "return",
            " f(a",
            ")",
            '"',
            "'",
            "#",
            "}",
            " {",
            ";",
            "é",
            "else",
            "<p>",
            "</",
            "<!--",
        ]
    ),
    max_size=30,
).map("".join)


@settings(max_examples=150, deadline=None)
@given(
    language=st.sampled_from(["python", "c", "javascript", "json", "sql", "html"]),
    first=LINES,
    second=LINES,
    cut=st.integers(0, 40),
)
def test_a_request_leaves_no_trace_and_pieces_do_not_matter(
    language: str, first: str, second: str, cut: int
) -> None:
    known = vocabulary("starcoder")
    used, fresh = AstShadow(known, language=language), AstShadow(known, language=language)
    one, two = known.encode(first), known.encode(second)
    used.begin(one)
    used.propose(5)
    prompt = [*one[:cut], *two]
    used.begin(prompt[: len(one[:cut]) + 3])
    for token in prompt[len(one[:cut]) + 3 :]:
        used.extend([token])
    fresh.begin(prompt)
    assert used._places == fresh._places
    assert used.propose(9) == fresh.propose(9)


def test_follows_the_language_and_the_limit() -> None:
    known = vocabulary("starcoder")
    proposer = AstShadow(known)
    assert not draft_after(proposer, known, "try")
    proposer.use_language("python")
    assert draft_after(proposer, known, "try") == ":\n   "
    assert draft_after(proposer, known, "try", limit=1) == ":"
    assert proposer.propose(0) is EMPTY
    proposer.use_language("java")
    assert draft_after(proposer, known, "try") == " {\n   "
    assert spell(known, proposer.propose(2).ids) == " {\n   "
