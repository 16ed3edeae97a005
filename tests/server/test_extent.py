"""How much is written at a place: a table of places, `|` being the cursor, and what those lie in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from velospec_lsp.completion.extent import Extent, extent_of
from velospec_lsp.completion.scope import Scope, scope_of
from velospec_lsp.completion.site import Query, Site, site_of
from velospec_lsp.documents import Document, Documents
from velospec_lsp.settings import Settings
from velospec_lsp.syntax_trees import Trees
from velospec_lsp.text import Place

BLOCK = Extent(12, in_block=True, why="a block")


def place(marked: str, language: str) -> tuple[Document, Place]:
    before, cursor, after = marked.partition("|")
    assert cursor
    line = before.count("\n")
    document = Documents().open("file:///project/file", language, 1, before + after)
    return document, Place(line, len(before) - (before.rfind("\n") + 1))


def seen(marked: str, language: str) -> tuple[Query, Site, Scope]:
    document, cursor = place(marked, language)
    query = Query(document, cursor)
    site = site_of(query, 4000, 1000)
    assert site is not None
    return query, site, scope_of(query, site, Trees().view(document, cursor.line))


def extent(marked: str, language: str = "python", settings: Settings | None = None) -> Extent:
    _, site, scope = seen(marked, language)
    return extent_of(site, settings or Settings(), scope)


BLOCKS = {
    "an empty document": ("|", "python"),
    "a header whose block is empty": ("def f(a, b):|\n", "python"),
    "the same before other code": ("def f(a, b):|\n\n\ndef g():\n    pass\n", "python"),
    "a header that is being written": ("def f():\n    for a in |\n", "python"),
    "a def that is being written": ("class A:\n    def f|\n", "python"),
    "a header with an open bracket": ("class A:\n    def f(|\n", "python"),
    "a loop's header with an open bracket": ("for (const a of |\n", "javascript"),
    "an empty block": ("def f():\n    |\n\n\ndef g():\n    pass\n", "python"),
    "a blank line before a blank one": ("def f():\n    a = 1\n    |\n\n    return a\n", "python"),
    "the end of a block": ("def f():\n    if a:\n        b()\n        |\n    return a\n", "python"),
    "an opened brace": ("function f(a) {|\n", "javascript"),
    "braces that the editor closed": ("function f(a) {|}\n", "javascript"),
    "a callback": ("a.map((x) => {|\n", "javascript"),
    "an arrow": ("const f = (a) =>|\n", "typescript"),
    "a blank line between braces": ("func f() {\n\t|\n}\n", "go"),
    "a blank line of a callback": ("foo((x) => {\n  |\n});\n", "javascript"),
    "an object that begins": ("const a = {|\n", "javascript"),
    "a header of Rust": ("fn f(a: u8) -> u8|\n", "rust"),
    "a header of C": ("int f(void) {\n    if (a) {|\n", "c"),
    "a shell loop": ("for a in b; do|\n", "shellscript"),
    "a class of a language without a grammar": ("class A|\n", "ruby"),
    "JSON, which its grammar ends": ('{\n  "a": [|]\n}\n', "json"),
    "prose": ("Some text |\n", "markdown"),
    "an unknown language": ("x = |\n", "unheard-of"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block(name: str) -> None:
    assert extent(*BLOCKS[name]) == BLOCK


LINES = {
    "text follows": ("x = | + 1\n", "python", "text follows the cursor"),
    "text follows in an unknown language": ("x = | + 1\n", "unheard-of", "text follows the cursor"),
    "a statement": ("def f():\n    return |\n", "python", "a statement"),
    "a whole statement": ("x = f()|\n", "python", "a statement"),
    "a statement of JavaScript": ("function f() {\n  return |\n}\n", "javascript", "a statement"),
    "behind a semicolon": ("if (a) b();|\n", "c", "a statement"),
    "closers follow": ("print(|)\n", "python", "closers follow the cursor"),
    "a colon follows": ("if |:\n", "python", "closers follow the cursor"),
    "arguments": ("f(a,\n  |\n", "python", "in a list"),
    "parameters on a line of their own": ("def f(a,\n      |\n", "python", "in a list"),
    "a list": ("a = [\n    1,\n    |\n]\n", "python", "in a list"),
    "a dictionary": ("a = {\n    1: 2,\n    |\n}\n", "python", "in a list"),
    "an object": ("const a = {\n  b: 1,\n  |\n};\n", "javascript", "in a list"),
    "an object among arguments": ("f({\n  b: 1,\n  |\n});\n", "javascript", "in a list"),
    "a literal of Go": ("a := []int{\n\t1,\n\t|\n}\n", "go", "in a list"),
    "an open bracket": ("x = f(|\n", "python", "in a list"),
    "a comment": ("# sum of |\n", "python", "in a comment"),
    "a comment behind code": ("x = 1  # sum of |\n", "python", "in a comment"),
    "a comment of several lines": ("/* one\n   |\n*/\n", "c", "in a comment"),
    "a docstring": ('def f():\n    """Return |\n', "python", "in a string"),
    "the second line of a docstring": (
        'def f():\n    """Return.\n\n    |\n    """\n',
        "python",
        "in a string",
    ),
    "an unfinished string": ('x = "abc|\ny = 1\n', "python", "in a string"),
    "a template": ("x = `a |\n`\n", "javascript", "in a string"),
    "a string of Rust": ('let a = "b |";\n', "rust", "in a string"),
    "an import": ("from a import |\n", "python", "in an import"),
    "an include": ("#include |\n", "c", "in an import"),
    "a header that has its block": ("if a|\n    b()\n", "python", "the block is not empty"),
    "a line put between two": (
        "def f():\n    a = 1\n    |\n    return a\n",
        "python",
        "the block goes on below",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_one_line(name: str) -> None:
    marked, language, why = LINES[name]
    assert extent(marked, language) == Extent(1, in_block=False, why=f"one line: {why}")


@pytest.mark.parametrize(
    "name", ["a comment", "an unfinished string", "arguments", "an import", "a statement"]
)
def test_the_same_without_a_tree(name: str) -> None:
    marked, language, why = LINES[name]
    query, site, _ = seen(marked, language)
    found = extent_of(site, Settings(), scope_of(query, site, None))
    assert found == Extent(1, in_block=False, why=f"one line: {why}")


def test_the_setting_is_for_all_languages_or_some() -> None:
    off = Extent(1, in_block=False, why="one line: the setting velospec.multiline")
    marked = "def f():|\n"
    assert extent(marked, settings=Settings(multiline=False)) == off
    assert extent(marked, settings=Settings(multiline=("go", "rust"))) == off
    assert extent(marked, settings=Settings(multiline=("go", "python"), max_lines=3)).lines == 3


CODE, COMMENT, STRING = Scope.CODE, Scope.COMMENT, Scope.STRING


@pytest.mark.parametrize(
    ("marked", "language", "expected"),
    [
        ('x = "a"|\n', "python", CODE),
        ('x = |"a"\n', "python", CODE),
        ('x = f"a {b|}"\n', "python", CODE),
        ('x = f"a {b} |"\n', "python", STRING),
        ("x = `a ${b|}`\n", "javascript", CODE),
        ("/* a */| b\n", "c", CODE),
        ("// a|\n", "c", COMMENT),
        ("/* a |*/\n", "c", COMMENT),
        ("<!-- a| -->\n", "html", COMMENT),
        ("a {\n  /* |b */\n}\n", "css", COMMENT),
        ('echo "a $(b|)"\n', "bash", CODE),
        ('echo "a |"\n', "bash", STRING),
        ("x = 1 -- a|\n", "lua", COMMENT),
        ("x = 'a|\n", "lua", STRING),
        ("s := `é\n|`\n", "go", STRING),
        ('x = "é😋|"\n', "python", STRING),
    ],
)
def test_what_a_place_lies_in(marked: str, language: str, expected: Scope) -> None:
    assert seen(marked, language)[2] is expected


PIECES = [*"""() {}[]#x:"'`\n""", "if", "    ", '"' * 3, "//", "/*", "é😋", "\r\n"]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.sampled_from(["python", "javascript", "go", "html", "json", "bash", "rust", "ruby", "unheard-of"]),
)
def test_every_text_has_an_extent(before: list[str], after: list[str], language: str) -> None:
    found = extent(f"{''.join(before)}|{''.join(after)}", language)
    assert found.lines in (1, 12)
    assert found.in_block is (found.lines == 12)
    assert bool(found.why)
