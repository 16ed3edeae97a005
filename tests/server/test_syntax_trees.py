"""The trees of open documents: the same as of a fresh parse whatever the edits, and cheap to keep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from velospec_lsp import syntax, syntax_trees
from velospec_lsp.documents import Document, Documents
from velospec_lsp.syntax import Syntax
from velospec_lsp.syntax_trees import WHOLE, Trees
from velospec_lsp.text import Place, Text

URI = "file:///project/a.py"
PYTHON = (
    'import os\r\n\r\ndef f(a, b="é😋"):\n    """Text\n\n    more."""\n'
    "    return [a,\n        b]\n\nx = {1: 2}\n"
)
SCRIPT = "import x from 'y';\nconst f = (a) => {\n  // ü\n  return `b ${a} c`;\n};\n"
PIECES = [
    "",
    "a",
    "(",
    ")",
    '"""',
    "'",
    "\n",
    "\r\n",
    "\n    ",
    "# x",
    "é",
    "😋",
    "def g():\n    pass\n",
    "`",
    "{",
]


def document(text: str, language: str = "python") -> Document:
    return Documents().open(URI, language, 1, text)


def replaced(before: Document, start: Place, end: Place, new: str) -> Document:
    return Document(URI, before.language, 2, before.text.replace(start, end, new), before.encoding)


@settings(deadline=None, max_examples=150)
@given(data=st.data(), sample=st.sampled_from([("python", PYTHON), ("javascript", SCRIPT)]))
def test_after_any_edits_the_tree_is_that_of_a_fresh_parse(
    data: st.DataObject, sample: tuple[str, str]
) -> None:
    trees, here = Trees(), document(sample[1], sample[0])
    for _ in range(data.draw(st.integers(1, 5))):
        trees.view(here, 0)
        for _ in range(data.draw(st.integers(0, 3))):
            places = sorted(
                Place(line, data.draw(st.integers(0, len(here.text.line(line)))))
                for line in data.draw(
                    st.lists(st.integers(0, here.text.line_count - 1), min_size=2, max_size=2)
                )
            )
            here = replaced(here, places[0], places[1], data.draw(st.sampled_from(PIECES)))
        view = trees.view(here, 0)
        assert view is not None
        fresh = Syntax(here.language, view.syntax.text)
        assert view.syntax.text == str(here.text).replace("\r\n", "\n").replace("\r", "\n")
        assert shape(view.syntax) == shape(fresh)


def shape(parsed: Syntax) -> list[tuple[str, int, int, bool]]:
    return [(node.type, node.start_byte, node.end_byte, node.is_missing) for node in syntax.walk(parsed.root)]


def test_one_more_character_parses_little_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often the parser reads is counted: a typed character costs a small part of the file."""
    reads: list[int] = []

    parser = syntax.Parser  # type: ignore[attr-defined]  # the module's own name for it

    class Counting:
        def __init__(self, language: Any) -> None:
            self.parser = parser(language)

        def parse(self, source: bytes, *old: Any) -> object:
            def bytes_at(offset: int, _point: object) -> bytes:
                reads.append(offset)
                return source[offset : offset + 16]

            return self.parser.parse(bytes_at, *old)

    monkeypatch.setattr(syntax, "Parser", Counting)
    block = "def f{0}(a, b):\n    # some text\n    return [a, b, {0}]\n\n\n"
    here = document("".join(block.format(number) for number in range(1000)))
    assert here.text.line_count == 5001
    trees = Trees()
    trees.view(here, 0)
    whole = len(reads)
    reads.clear()
    trees.view(replaced(here, Place(2502, 10), Place(2502, 10), "x"), 2502)
    assert 0 < len(reads) < whole / 8  # it looks at the start of each function, and into one


def test_a_snapshot_is_parsed_once_and_old_trees_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    trees, here = Trees(), document(PYTHON)
    first = trees.view(here, 0)
    assert trees.view(here, 5) is first
    assert first is not None
    before = shape(first.syntax)
    trees.view(replaced(here, Place(0, 0), Place(3, 0), "x"), 0)
    assert shape(first.syntax) == before
    trees.closed(here)
    assert trees.view(here, 0) is not first


def test_other_language_or_none() -> None:
    trees = Trees()
    assert trees.view(document("x", "cobol"), 0) is None
    python = trees.view(document("x = 1", "python"), 0)
    script = trees.view(document("x = 1", "javascript"), 0)
    assert python is not None
    assert script is not None
    assert (python.syntax.root.type, script.syntax.root.type) == ("module", "program")


def test_of_a_huge_file_a_window_is_parsed() -> None:
    here = document("x = 1\n" * (WHOLE + 10_000))
    trees = Trees()
    view = trees.view(here, 25_100)
    assert view is not None
    assert (view.first, len(view.syntax.lines)) == (23_000, 4_001)
    node = view.beside(Place(25_100, 1))
    assert (node.type, view.line_of(node)) == ("identifier", 25_100)
    again = trees.view(here, 25_900)
    assert again is view
    moved = trees.view(here, 0)
    assert moved is not None
    assert moved.first == 0


def test_few_trees_are_kept() -> None:
    trees = Trees()
    for number in range(40):
        trees.view(Document(f"{URI}{number}", "python", 1, Text.of("x"), document("").encoding), 0)
    assert len(trees._kept) == syntax_trees._KEPT


@pytest.mark.parametrize(
    ("line", "index", "kind"),
    [(3, 8, "string_content"), (0, 6, "import"), (0, 0, "import"), (2, 14, "string_content"), (9, 10, "}")],
)
def test_the_node_beside_a_place(line: int, index: int, kind: str) -> None:
    view = Trees().view(document(PYTHON.replace("\r\n", "\n")), 0)
    assert view is not None
    index = min(index, len(view.syntax.lines[line]))
    assert view.beside(Place(line, index)).type == kind
