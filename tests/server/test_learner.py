"""What the daemon is taught of open documents and of files, when, and what it is told to forget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.taught import Taught
from velospec.core.learning import MOST_RELEVANT, Feedback, Reception, TextChange
from velospec_lsp.documents import Change, Document, Documents, Position
from velospec_lsp.events import Decision, Edit, Fate
from velospec_lsp.learning import learner as module
from velospec_lsp.learning.desk import Desk
from velospec_lsp.learning.learner import Learner
from velospec_lsp.learning.survey import Pace
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.text import Place


class Editor:
    """A learner and the documents it hears of; settings are attributes."""

    def __init__(self, *roots: Path) -> None:
        self.daemon = Taught()
        self.documents = Documents()
        self.roots = tuple(map(str, roots))
        self.exclude: tuple[str, ...] = ()
        self.settled = self.learns = True
        self.dropped: list[str] = []
        desk = Desk(
            self._gate, self.folder_of, lambda: self.settled, lambda: self.learns, self.dropped.append
        )
        self.learner = Learner(lambda: self.daemon, desk)
        self.learner.survey.pace = Pace(poll=0.05, quiet=0.0, pause=0.0)

    def _gate(self) -> PrivacyGate:
        return PrivacyGate(self.exclude, folders=self.roots)

    def folder_of(self, uri: str) -> str:
        path = uri_path(uri) or ""
        return max((root for root in self.roots if path.startswith(root + "/")), key=len, default="")

    def open(self, uri: str, text: str) -> Document:
        document = self.documents.open(uri, "python", 1, text)
        self.learner.opened(document)
        return document

    def type(self, uri: str, line: int, column: int, text: str) -> None:
        before = self.documents.get(uri)
        assert before is not None
        changes = (Change(text, Position(line, column), Position(line, column)),)
        after = self.documents.change(uri, before.version + 1, changes)
        assert after is not None
        self.learner.edited(Edit(before, after, changes))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110 - what is waited for knows nothing of tests
                await asyncio.sleep(0.005)

    def known(self, root: Path) -> dict[str, str]:
        return self.daemon.texts(str(root))


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    monkeypatch.setattr(module, "TOLD_LATER", 0.02)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return Editor(tmp_path)


def in_loop(test: Callable[[Editor, Path], Awaitable[None]]) -> Callable[[Editor, Path], None]:
    """The test in an event loop of its own, which the editor leaves in the end."""

    async def whole(editor: Editor, tmp_path: Path) -> None:
        await test(editor, tmp_path)
        await editor.learner.close()

    def run(editor: Editor, tmp_path: Path) -> None:
        asyncio.run(whole(editor, tmp_path))

    return run


@in_loop
async def test_an_open_document_is_told_whole_and_then_by_changes(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "a b.py").as_uri()
    editor.open(uri, "one\r\ntwo\r\n")
    await editor.until(lambda: len(editor.daemon.lessons) == 1)
    for column, char in enumerate("xyz"):
        editor.type(uri, 1, column, char)
    await editor.until(lambda: len(editor.daemon.lessons) == 2)
    first, second = editor.daemon.lessons
    assert first == replace(first, workspace=str(tmp_path), document=uri, text="one\ntwo\n", path="a b.py")
    assert (first.relevance, first.base, first.changes) == (MOST_RELEVANT, None, ())
    assert (second.text, second.base, second.changes) == (None, first.version, (TextChange(4, 4, "xyz"),))
    assert editor.known(tmp_path) == {"a b.py": "one\nxyztwo\n"}


@in_loop
async def test_what_the_daemon_lost_is_told_again(editor: Editor, tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, "one\n")
    await editor.until(lambda: len(editor.daemon.lessons) == 1)
    editor.daemon.spaces.of(str(tmp_path)).forget()
    editor.type(uri, 0, 0, "x")
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "xone\n"})
    editor.daemon.away = True
    editor.type(uri, 0, 0, "y")
    await asyncio.sleep(0.1)
    editor.daemon.away = False
    editor.type(uri, 0, 0, "z")
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "zyxone\n"})


@in_loop
async def test_texts_of_no_workspace_are_not_told(editor: Editor, tmp_path: Path) -> None:
    inside = (tmp_path / "a.py").as_uri()
    for uri in ("untitled:Untitled-1", f"untitled:{tmp_path}/b.py", "file:///elsewhere/c.py"):
        editor.open(uri, "SECRET\n")
        editor.type(uri, 0, 0, "x")
    editor.open((tmp_path / ".env").as_uri(), "SECRET\n")
    editor.open(inside, "one\n")
    await editor.until(lambda: len(editor.daemon.lessons) == 1)
    await asyncio.sleep(0.1)
    assert [lesson.document for lesson in editor.daemon.lessons] == [inside]


@in_loop
async def test_nothing_is_told_before_the_settings_are_known(editor: Editor, tmp_path: Path) -> None:
    editor.settled = False
    editor.open((tmp_path / "a.py").as_uri(), "one\n")
    editor.open((tmp_path / "b.py").as_uri(), "two\n")
    await asyncio.sleep(0.1)
    assert editor.daemon.lessons == []
    editor.settled, editor.exclude = True, ("b.py",)
    editor.learner.reconsider()
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "one\n"})


@in_loop
async def test_files_are_learned_when_a_document_of_theirs_is_open(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("two\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    (tmp_path / "noise.txt").write_text("no code\n")
    editor.open((tmp_path / "a.py").as_uri(), "one\n")
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "one\n", "b.py": "two\n"})
    (tmp_path / "a.py").write_text("one\n")
    (tmp_path / "b.py").unlink()
    (tmp_path / "c.py").write_text("three\n")  # nobody tells of either: they are looked for
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "one\n", "c.py": "three\n"})


@in_loop
async def test_where_the_client_tells_of_files_nobody_looks(editor: Editor, tmp_path: Path) -> None:
    editor.learner.survey.watched = True
    (tmp_path / "z.py").write_text("last\n")
    editor.open((tmp_path / "a.py").as_uri(), "one\n")
    first = {"a.py": "one\n", "z.py": "last\n"}
    await editor.until(lambda: editor.known(tmp_path) == first)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.py").write_text("two\n")
    await asyncio.sleep(0.2)
    assert editor.known(tmp_path) == first
    editor.learner.changed([(tmp_path / "in" / "b.py").as_uri()])
    await editor.until(lambda: "in/b.py" in editor.known(tmp_path))
    (tmp_path / "in" / "b.py").unlink()
    editor.learner.changed([(tmp_path / "in").as_uri()])  # all that is told of a folder that is removed
    await editor.until(lambda: editor.known(tmp_path) == first)
    (tmp_path / "c.py").write_text("three\n")
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    await editor.until(lambda: "c.py" in editor.known(tmp_path))


@in_loop
async def test_what_becomes_excluded_is_forgotten(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("two\n")
    (tmp_path / "c.py").write_text("three\n")
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, "one\n")
    await editor.until(lambda: len(editor.known(tmp_path)) == 3)
    editor.exclude = ("b.py",)
    editor.learner.reconsider()
    await editor.until(lambda: set(editor.known(tmp_path)) == {"a.py", "c.py"})
    (tmp_path / ".gitignore").write_text("/a.py\nc.py\n")
    editor.learner.saved(editor.documents.open((tmp_path / ".gitignore").as_uri(), "ignore", 1, ""))
    await editor.until(lambda: editor.known(tmp_path) == {})
    assert set(editor.dropped) == {(tmp_path / name).as_uri() for name in ("a.py", "b.py", "c.py")}
    editor.type(uri, 0, 0, "x")
    await asyncio.sleep(0.1)
    assert editor.known(tmp_path) == {}


@in_loop
async def test_a_closed_document_counts_as_it_was_saved(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("saved\n")
    editor.learner.closed(editor.open((tmp_path / "a.py").as_uri(), "not saved\n"))
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "saved\n"})


@in_loop
async def test_a_file_has_one_name_however_the_client_quotes(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "[a].py"
    file.write_text("one\n")
    other = (tmp_path / "b.py").as_uri()
    editor.open(other, "two\n")
    await editor.until(lambda: len(editor.known(tmp_path)) == 2)
    uri = f"file://{tmp_path}/[a].py"
    document = editor.open(uri, "one\n")
    await editor.until(lambda: set(editor.daemon.spaces.of(str(tmp_path)).known()) == {uri, other})
    editor.learner.closed(document)
    await editor.until(lambda: set(editor.daemon.spaces.of(str(tmp_path)).known()) == {file.as_uri(), other})


@in_loop
async def test_renamed_files_go_on_under_their_new_name(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "b.py").write_text("two\n")
    editor.learner.survey.watched = True
    editor.open((tmp_path / "a.py").as_uri(), "one\n")
    await editor.until(lambda: "old/b.py" in editor.known(tmp_path))
    (tmp_path / "old").rename(tmp_path / "new")
    editor.learner.renamed((tmp_path / "old").as_uri(), (tmp_path / "new").as_uri())
    await editor.until(lambda: set(editor.known(tmp_path)) == {"a.py", "new/b.py"})
    editor.learner.renamed((tmp_path / "new" / "b.py").as_uri(), (tmp_path / ".env").as_uri())
    await editor.until(lambda: set(editor.known(tmp_path)) == {"a.py"})


@in_loop
async def test_roots_are_kept_apart(editor: Editor, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "b.py").write_text("inner\n")
    (outer / "c.py").write_text("outer\n")
    editor.roots = (str(outer),)
    editor.open((outer / "a.py").as_uri(), "one\n")
    await editor.until(lambda: len(editor.known(outer)) == 3)
    editor.roots = (str(outer), str(inner))
    editor.learner.reconsider()
    editor.open((inner / "d.py").as_uri(), "two\n")
    await editor.until(lambda: editor.known(outer) == {"a.py": "one\n", "c.py": "outer\n"})
    await editor.until(lambda: editor.known(inner) == {"d.py": "two\n", "b.py": "inner\n"})


@in_loop
async def test_what_is_forgotten_by_hand_is_left_alone(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("two\n")
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, "one\n")
    await editor.until(lambda: len(editor.known(tmp_path)) == 2)
    assert await editor.learner.forget(str(tmp_path), (tmp_path / "b.py").as_uri()) == 1
    assert editor.known(tmp_path) == {"a.py": "one\n"}
    assert await editor.learner.forget(str(tmp_path)) == 1
    await asyncio.sleep(0.2)
    assert editor.known(tmp_path) == {}
    editor.type(uri, 0, 0, "x")
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "xone\n"})


@in_loop
async def test_with_the_setting_off_nothing_is_taught_but_excluded_files_go(
    editor: Editor, tmp_path: Path
) -> None:
    (tmp_path / "b.py").write_text("two\n")
    uri = (tmp_path / "a.py").as_uri()
    editor.open(uri, "one\n")
    await editor.until(lambda: len(editor.known(tmp_path)) == 2)
    editor.learns, editor.exclude = False, ("b.py",)
    editor.learner.reconsider()
    editor.type(uri, 0, 0, "x")
    await editor.until(lambda: editor.known(tmp_path) == {"a.py": "one\n"})
    await asyncio.sleep(0.1)
    assert editor.known(tmp_path) == {"a.py": "one\n"}


@in_loop
async def test_what_becomes_of_offers_is_told_in_numbers(editor: Editor, tmp_path: Path) -> None:
    document = editor.open((tmp_path / "a.py").as_uri(), "one\n")
    stray = editor.open("untitled:b", "one\n")
    for fate in Fate:
        for where in (document, stray):
            editor.learner.decided(Decision(fate, "v1", where, Place(0, 0), "four", 3))
    await editor.until(lambda: len(editor.daemon.feedback) == 5)
    kinds = [Reception.ACCEPTED, Reception.PARTLY, Reception.ACCEPTED, Reception.REJECTED, Reception.DELETED]
    assert editor.daemon.feedback == [Feedback(str(tmp_path), kind, 4, 3, document.uri) for kind in kinds]
