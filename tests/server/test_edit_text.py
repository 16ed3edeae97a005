"""How a model's text gets into a file: documentation in each language's form, code at its indentation."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.edit_samples import SAMPLES, Sample
from velospec_lsp.documents import Document
from velospec_lsp.editing.documentation import Documentation, document_function, plain
from velospec_lsp.editing.functions import Parameter, function_at
from velospec_lsp.editing.passage import passage_of, replace_passage
from velospec_lsp.editing.source import Source, apply_changes
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.syntax import Syntax, breaks
from velospec_lsp.text import Text

_MARKS = st.sampled_from("\"\\*/\n\r\t `{}$#'u@<>")
NASTY = st.text(st.characters(exclude_categories=["Cs"]) | _MARKS, max_size=60)


def source_of(language: str, text: str) -> Source:
    return Source.of(Document("file:///x", language, 1, Text.of(text), PositionEncoding.UTF16))


@settings(deadline=None, max_examples=30)
@given(summary=NASTY, line=NASTY, returns=NASTY)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_documentation_never_breaks_the_file(sample: Sample, summary: str, line: str, returns: str) -> None:
    source = source_of(sample.language, sample.text)
    syntax = Syntax(sample.language, source.text)
    function = function_at(source, syntax, source.text.index(sample.old))
    assert function is not None
    lines = {each.name: plain(line) for each in function.parameters}
    said = Documentation(plain(summary), lines, plain(returns))
    change = document_function(source, syntax, function, said)
    assert change is not None
    after = apply_changes(source.text, [change])
    assert not breaks(syntax, sample.language, after)
    # Written again, it takes the place of what was written.
    syntax = Syntax(sample.language, after)
    again = source_of(sample.language, after)
    inside = change.start + len(change.text) + source.text[change.end :].index(sample.old)
    second = function_at(again, syntax, inside)
    assert second is not None
    assert second.name == function.name
    repeated = document_function(again, syntax, second, said)
    assert repeated is not None
    assert apply_changes(after, [repeated]) == after


@given(NASTY)
def test_a_python_docstring_says_what_was_said(text: str) -> None:
    source = source_of("python", "def f():\n    return 1\n")
    syntax = Syntax("python", source.text)
    function = function_at(source, syntax, 0)
    assert function is not None
    said = plain(text)
    change = document_function(source, syntax, function, Documentation(said))
    assert change is not None
    [written] = ast.parse(apply_changes(source.text, [change])).body
    assert isinstance(written, ast.FunctionDef)
    docstring = ast.get_docstring(written) or ""
    assert docstring.split() == said.replace('"""', "'''").split()


FUNCTIONS = [
    (
        "python",
        "class A:\n    @d\n    def m(self, a, *b, c: int = 1, **d) -> None: pa¦ss\n",
        "m",
        "a *b c **d",
        False,
    ),
    ("python", "async def f(x=1):\n    def g(): return 1\n    pa¦ss\n", "f", "x", False),
    ("python", "def f(x):\n    return¦ x\n", "f", "x", True),
    ("javascript", "// A comment.¦\nexport default function f({ a }, b, ...c) {}\n", "f", "b c", False),
    ("javascript", "const o = 1, g = x¦ => x;\n", "g", "x", True),
    ("typescript", "class A { static n = (q?: string) => { re¦turn q } }\n", "n", "q", True),
    ("typescript", "interface I { m(a: number): Promise<void¦> }\n", "m", "a", False),
    ("go", "package m\nfunc (r *T) F(a, b int, c ...string) int { ret¦urn 1 }\n", "F", "a b c", True),
    ("rust", "#[test]¦\nfn f<T>(&self, mut a: T, (b, c): (u8, u8)) {}\n", "f", "a", False),
    ("java", "class A { A(int c¦) {} }\n", "A", "c", False),
    ("c", "static const int *g(int a, char *b[], int (*cb)(int)¦) { return 0; }\n", "g", "a b cb", True),
    ("cpp", "template <class T> T& N::f(const T& a, T&& b = 1)¦ { return a; }\n", "f", "a b", True),
]


@pytest.mark.parametrize(("language", "marked", "name", "parameters", "returns"), FUNCTIONS)
def test_the_function_at_the_cursor(
    language: str, marked: str, name: str, parameters: str, *, returns: bool
) -> None:
    text = marked.replace("¦", "")
    source, syntax = source_of(language, text), Syntax(language, text)
    found = function_at(source, syntax, marked.index("¦"))
    assert found is not None
    assert found.name == name
    assert found.parameters == tuple(
        Parameter(each.lstrip("*"), each[: len(each) - len(each.lstrip("*"))]) for each in parameters.split()
    )
    if language != "go":
        assert found.returns is returns


def replaced(language: str, text: str, selection: str, code: str) -> str:
    """`text` with `code` in the place of `selection`; an empty one is the cursor at the mark ¦."""
    start = text.index("¦") if not selection else text.index(selection)
    text = text.replace("¦", "")
    source = source_of(language, text)
    syntax = Syntax(language, text) if language else None
    passage = passage_of(source, syntax, start, start + len(selection))
    return apply_changes(text, [replace_passage(source, passage, code)])


@pytest.mark.parametrize(
    ("language", "text", "selection", "code", "after"),
    [
        # lines: the indentation is the document's
        (
            "python",
            "if a:\n    x = 1\n    y = 2\n",
            "    x = 1\n",
            "z = 3\nw = 4\n",
            "if a:\n    z = 3\n    w = 4\n    y = 2\n",
        ),
        (
            "python",
            "if a:\n    x = 1\n",
            "x = 1",
            "        if b:\n            x = 2",
            "if a:\n    if b:\n        x = 2\n",
        ),
        (
            "go",
            "f {\n\tif a {\n\t\tb()\n\t}\n}\n",
            "\tif a {\n\t\tb()\n\t}\n",
            "if c {\n    d()\n}",
            "f {\n\tif c {\n\t\td()\n\t}\n}\n",
        ),
        (
            "python",
            "def f():\n  x = 1\n",
            "  x = 1",
            "```python\nx = 1\n\ny = 2\n```",
            "def f():\n  x = 1\n\n  y = 2\n",
        ),
        # part of a line
        ("python", "x = a + b  # c\n", "a + b", "a - b", "x = a - b  # c\n"),
        ("python", "    x = f(a)\n", "f(a)", "f(\n    a,\n)", "    x = f(\n        a,\n    )\n"),
        # no selection: the statement that begins on the line
        ("python", "a = 1\nfor¦ x in y:\n    z(x)\nb = 2\n", "", "z(y)", "a = 1\nz(y)\nb = 2\n"),
        ("python", "def f():\n    ret¦urn 1\n", "", "return 2", "def f():\n    return 2\n"),
        ("javascript", "const a¦ = {\n  b: 1,\n};\nc();\n", "", "const a = {};", "const a = {};\nc();\n"),
        ("", "one\ntwo¦\n", "", "2", "one\n2\n"),
        # a blank line
        (
            "python",
            "def f():\n    a = 1\n    ¦\n    return a\n",
            "",
            "a += 1",
            "def f():\n    a = 1\n    a += 1\n    return a\n",
        ),
    ],
)
def test_code_comes_to_its_place(language: str, text: str, selection: str, code: str, after: str) -> None:
    assert replaced(language, text, selection, code) == after
