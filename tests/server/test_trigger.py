"""When nothing is asked for: each rule at its places, what all must let through, and the history behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.test_extent import place
from velospec_lsp.completion.history import History, Past, Stroke
from velospec_lsp.completion.scope import Scope
from velospec_lsp.completion.site import Query, Selection, site_of
from velospec_lsp.completion.trigger import Moment, why_not
from velospec_lsp.documents import Change, Document, Documents, Position
from velospec_lsp.events import Edit
from velospec_lsp.text import Place

URI = "file:///project/file"


def moment(
    marked: str, language: str = "python", past: Past | None = None, *, manual: bool = False
) -> Moment:
    document, cursor = place(marked, language)
    query = Query(document, cursor, manual)
    site = site_of(query, 4000, 1000)
    assert site is not None
    return Moment(query, site, past or Past())


class Typing:
    """A document that is typed into, with a clock that the test turns."""

    def __init__(self, text: str) -> None:
        self.now = 100.0
        self.documents = Documents()
        self.documents.open(URI, "python", 1, text)
        self.history = History(lambda: self.now)

    @property
    def document(self) -> Document:
        document = self.documents.get(URI)
        assert document is not None
        return document

    def change(self, *changes: tuple[int, int, int, int, str]) -> None:
        """Each change: line and column of its start and end, and its text."""
        before = self.document
        parts = tuple(
            Change(text, Position(line, column), Position(last, end))
            for line, column, last, end, text in changes
        )
        after = self.documents.change(URI, before.version + 1, parts)
        assert after is not None
        self.history.edited(Edit(before, after, parts))

    def type(self, line: int, column: int, text: str) -> None:
        for at, char in enumerate(text):
            self.change((line, column + at, line, column + at, char))

    def delete(self, line: int, column: int, count: int = 1) -> None:
        """Backspace from `column` on, `count` times."""
        for at in range(column, column - count, -1):
            self.change((line, at - 1, line, at, ""))

    def why(self, line: int, column: int, *, manual: bool = False) -> str:
        query = Query(self.document, Place(line, column), manual)
        site = site_of(query, 4000, 1000)
        assert site is not None
        return why_not(Moment(query, site, self.history.past(URI)))


SILENT = {
    "inside a word": ("na|me = 1\n", "The cursor is inside a word."),
    "inside a word with umlauts": ("gr|ün\n", "The cursor is inside a word."),
    "between arguments": ("f(|, b)\n", "Text follows the cursor on its line."),
    "before an operand": ("x = | + 1\n", "Text follows the cursor on its line."),
    "before an element": ("<p>|<b>x</b></p>\n", "Text follows the cursor on its line."),
    "at a line's start": ("|x = 1\n", "Text follows the cursor on its line."),
}


@pytest.mark.parametrize("name", SILENT)
def test_the_text_right_of_the_cursor(name: str) -> None:
    marked, reason = SILENT[name]
    assert why_not(moment(marked)) == reason
    assert why_not(moment(marked, manual=True)) == ""


@pytest.mark.parametrize(
    ("marked", "language"),
    [
        ("|", "python"),
        ("x = |\n", "python"),
        ("print(|)\n", "python"),
        ("print('|')\n", "python"),
        ("f(g(|))\n", "python"),
        ("if a|:\n", "python"),
        ("f(|);\n", "javascript"),
        ("if (|) {\n", "javascript"),
        ("a.|\n", "python"),
        ("x = |   \n", "python"),
        ("x = |  # why\n", "python"),
        ("x = | // why\n", "c"),
        ("name|\n", "python"),
        ("f(|)\r\n", "python"),
        ("<p>|</p>\n", "html"),
        ("  return <b>{|}</b>;\n", "javascriptreact"),
        ("const f = (|) => {\n", "typescript"),
        ("a.map((|) => )\n", "typescript"),
    ],
)
def test_what_may_stand_there(marked: str, language: str) -> None:
    assert why_not(moment(marked, language)) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print", ""),
        ("print(x)", ""),
        ("sprint", "The selected entry of the popup does not begin with the text at the cursor."),
    ],
)
@pytest.mark.parametrize("manual", [False, True])
def test_the_popups_entry_must_begin_with_what_is_typed(text: str, reason: str, manual: bool) -> None:
    document, cursor = place("x = pr|\n", "python")
    query = Query(document, cursor, manual, Selection(Place(0, 4), Place(0, 6), text))
    site = site_of(query, 4000, 1000)
    assert site is not None
    assert why_not(Moment(query, site)) == reason


def test_a_scope_is_silent_where_the_setting_names_it() -> None:
    here = moment("# a|\n")
    reason = "The cursor is in a comment, and the setting velospec.disabledScopes names it."
    for disabled, said in (("comment",), reason), (("string",), ""), ((), ""):
        assert why_not(Moment(here.query, here.site, here.past, Scope.COMMENT, disabled)) == said


TYPO = "A character was just deleted; with the next key, or the third one deleted, there are offers again."


@pytest.mark.parametrize(("count", "reason"), [(1, TYPO), (2, TYPO), (3, ""), (5, "")])
def test_deletions(count: int, reason: str) -> None:
    typing = Typing("x = value\n")
    typing.delete(0, 9, count)
    assert typing.why(0, 9 - count) == reason
    assert typing.why(0, 9 - count, manual=True) == ""
    typing.now += 2.5
    assert typing.why(0, 9 - count) == ""


def test_what_is_no_correction() -> None:
    typing = Typing("x = value\n    \n")
    typing.delete(0, 9, 1)
    typing.type(0, 8, "s")
    assert typing.why(0, 9) == ""  # typed on
    typing.change((0, 4, 0, 9, ""))
    assert typing.why(0, 4) == ""  # a word at once: it will be written anew
    typing.change((1, 3, 1, 4, ""))
    assert typing.why(1, 3) == ""  # indentation
    typing.change((0, 4, 1, 3, ""))
    assert typing.why(0, 4) == ""  # a line end


def test_keys_that_must_be_answered() -> None:
    """Editors ask after each key; none of these may be silenced."""
    typing = Typing("def f(a):\n")
    for text in ("\n    ", "\t", ".", "()", '""', "# ", "prin", "x = 1; "):
        end = typing.document.text.line_count - 1
        typing.change((end, 0, end, 0, text))
        last = typing.document.text.line_count - 1
        assert typing.why(last, len(typing.document.text.line(last))) == "", text
        typing.now += 0.1


def test_undo_and_redo() -> None:
    typing = Typing("x = \n")
    typing.type(0, 4, "value")
    typing.change((0, 4, 0, 9, ""))
    assert typing.why(0, 4) == "The last change was an undo or a redo."
    typing.change((0, 4, 0, 4, "value"))
    assert typing.why(0, 9) == "The last change was an undo or a redo."
    typing.now += 3
    assert typing.why(0, 9) == ""
    typing.type(0, 9, "s")
    assert typing.why(0, 10) == ""


def test_an_offer_taken_again_is_no_redo() -> None:
    typing = Typing("x = \n")
    typing.change((0, 4, 0, 4, "f(value)"))
    typing.history.accepted("v1")
    typing.change((0, 4, 0, 12, ""))
    assert typing.why(0, 4) == "The last change was an undo or a redo."
    typing.change((0, 4, 0, 4, "f(value)"))
    typing.history.accepted("v1")
    assert typing.why(0, 12) == ""


def test_typing_a_character_again_is_no_redo() -> None:
    typing = Typing("x = \n")
    typing.type(0, 4, "ab")
    typing.delete(0, 6, 1)
    typing.type(0, 5, "b")
    assert typing.why(0, 6) == ""


def test_several_cursors() -> None:
    typing = Typing("a\nb\n")
    typing.change((1, 1, 1, 1, "."), (0, 1, 0, 1, "."))
    assert typing.why(0, 2) == "Several cursors are typing."
    typing.type(0, 2, "x")
    assert typing.why(0, 3) == ""


def test_changes_elsewhere() -> None:
    typing = Typing("a\nb\nc\nd\n")
    typing.change((2, 0, 2, 1, "cc"), (0, 0, 1, 0, "x\ny\nz\n"))
    assert typing.history.past(URI).strokes[-1].ended == (4, 3)
    assert typing.why(5, 1) == "The text was changed in several places, and not at the cursor."
    assert typing.why(4, 2) == ""


def test_an_import_added_with_an_accepted_entry() -> None:
    typing = Typing("\nx = pat\n")
    typing.change((1, 4, 1, 7, "Path"), (0, 0, 0, 0, "from pathlib import Path\n"))
    assert typing.why(2, 8) == ""


def test_the_whole_text_replaced_says_nothing() -> None:
    typing = Typing("a\n")
    before = typing.document
    after = typing.documents.change(URI, 2, [Change("ab\n")])
    assert after is not None
    typing.history.edited(Edit(before, after, (Change("ab\n"),)))
    assert typing.history.past(URI) == Past((Stroke(100.0, 3, 2),), 0.0)
    assert typing.why(0, 2) == ""


def test_a_file_that_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = \n")
    monkeypatch.setattr("os.access", lambda path, mode: str(path) == str(file) and mode == 0)
    document = Documents().open(file.as_uri(), "python", 1, "x = \n")
    query = Query(document, Place(0, 4))
    site = site_of(query, 4000, 1000)
    assert site is not None
    assert why_not(Moment(query, site)) == "The file is read-only."
    assert why_not(Moment(query, site, Past((Stroke(0.0, 1, 0, (0,)),), 5.0))) == ""
    file.unlink()
    monkeypatch.undo()
    assert why_not(Moment(query, site)) == ""


def test_documents_are_forgotten() -> None:
    typing = Typing("a\n")
    typing.type(0, 1, "b")
    assert typing.history.past("file:///other") == Past()
    typing.history.closed(typing.document)
    assert typing.history.past(URI) == Past()
    typing.history.accepted("v1")
