"""What of other files is shown at a cursor: what is alike, what stays, what the privacy gate keeps out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Wire
from velospec.core.request import Chunk
from velospec_lsp.completion.context.assemble import Context
from velospec_lsp.completion.context.choice import MOST, choose
from velospec_lsp.completion.context.choice import Place as Spot
from velospec_lsp.completion.context.files import kind_of, near, read
from velospec_lsp.completion.context.pieces import LINES, Piece, cut, lines_of, shared_words, words_of
from velospec_lsp.completion.site import Query, site_of
from velospec_lsp.documents import Change, Document, Position
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.events import Edit
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.text import Place, Text


def invoices(noun: str = "invoice", lines: int = 20) -> str:
    """Code about `noun`, each line of it another one."""
    return "".join(
        f"def {noun}_total_{n}({noun}s, customer, currency):\n"
        f"    return sum({noun}.amount * {noun}.quantity_{n} for {noun} in {noun}s if customer)\n"
        for n in range(lines // 2)
    )


def parser() -> str:
    return "".join(
        f"class Token{n}(Lexeme):\n    kind = Kind.{n}\n    def match(self, text):\n        yield text[{n}]\n"
        for n in range(10)
    )


def document(uri: str, text: str, version: int = 1) -> Document:
    return Document(uri, "python", version, Text.of(text), PositionEncoding.UTF16)


def after(doc: Document, start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    change = Change(text, Position(*start), Position(*end))
    return Edit(doc, doc.apply(change), (change,))


class Desk:
    """A context over the folders of a test, with a gate of its own."""

    def __init__(self, *roots: Path) -> None:
        self.roots = tuple(root.as_posix() for root in roots)
        self.gate = PrivacyGate(folders=self.roots)
        self.context = Context(lambda: self.gate, self.folder_of)

    def folder_of(self, uri: str) -> str:
        path = uri_path(uri) or ""
        return next((root for root in self.roots if path.startswith(root + "/")), "")

    def open(self, path: Path, text: str) -> Document:
        opened = document(path.as_uri(), text)
        self.context.opened(opened)
        return opened

    def at(self, doc: Document, line: int | None = None) -> tuple[Chunk, ...]:
        """What is shown at the end of the document, or of a line."""
        line = doc.text.line_count - 1 if line is None else line
        query = Query(doc, doc.text.clamp(Place(line, 10_000)))
        site = site_of(query, 4000, 1000)
        assert site is not None
        return self.context.at(query, site)

    async def settle(self) -> None:
        assert self.context._reader is not None
        await self.context._reader


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "shop").mkdir()
    return Desk(tmp_path)


HERE = (
    "import shop\n\n\ndef invoice_total_of(invoices, customer, currency):\n    return sum(invoice.amount * "
)


def on_loop(test: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run `test` in a loop of its own."""
    asyncio.run(test())


# Pieces.


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text("ab c\tπ", max_size=60), max_size=120))
def test_pieces_are_lines_of_the_text_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    pieces = list(cut("file:///a.py", text))
    for piece in pieces:
        body = piece.text.rstrip("\n")
        assert "\n".join(lines[piece.start :]).startswith(body)
        assert piece.text.count("\n") <= LINES
        assert piece.words == words_of(piece.text)
    assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})


def test_a_file_of_few_lines_is_one_piece_and_of_next_to_none_no_piece() -> None:
    assert [piece.text for piece in cut("file:///a.py", invoices(lines=12))] == [invoices(lines=12)]
    assert not list(cut("file:///a.py", "import os\n\n\nX = 1\n"))


def test_what_two_texts_share_is_what_their_words_say() -> None:
    one, other = "alpha beta gamma delta", "gamma = delta(epsilon, zeta)"
    assert shared_words(words_of(one), words_of(other)) == 2 / 6
    assert shared_words(words_of(one), words_of(one)) == 1
    assert shared_words(words_of(""), words_of("")) == 0
    assert lines_of("  a\n\n\tb \n") == {"a", "b"}


# The choice.


def spot(text: str) -> Spot:
    return Spot(words_of(text), lines_of(text))


def test_only_pieces_with_enough_in_common_are_chosen_the_best_first() -> None:
    pieces = [*cut("file:///parser.py", parser()), *cut("file:///a.py", invoices(lines=12))]
    less = next(cut("file:///b.py", invoices(lines=10).replace("quantity_", "number_")))
    least = next(cut("file:///c.py", invoices(lines=12).replace("customer", "buyer")))
    assert [p.uri for p in choose(spot(HERE), pieces)] == ["file:///a.py"]
    assert [p.uri for p in choose(spot(HERE), [*pieces, less])] == ["file:///b.py", "file:///a.py"]
    assert not choose(spot(HERE), [least])  # 0.26 of the words, not 0.3
    assert not choose(spot("x = 1"), pieces)


def test_what_says_nothing_new_is_not_chosen() -> None:
    piece = next(cut("file:///a.py", invoices(lines=12)))
    assert not choose(spot(invoices(lines=12)), [piece])
    copy = Piece("file:///copy.py", 0, piece.text, piece.words)
    assert len(choose(spot(HERE), [piece, copy])) == 1
    halves = list(cut("file:///a.py", invoices(lines=64)))
    assert len(halves) > MOST
    chosen = choose(spot(HERE), halves)
    assert all(not one.overlaps(other) for one in chosen for other in chosen if one is not other)


def test_what_is_shown_stays_in_its_place_while_it_is_of_use() -> None:
    first = next(cut("file:///a.py", invoices(lines=12)))
    best = next(cut("file:///b.py", invoices("bill", lines=12)))
    there = spot(
        "def bill_total(bills, customer, currency):\n    return sum(bill.amount * bill.invoice_total"
    )
    assert choose(there, [first, best]) == (best,)
    here = spot(HERE + "invoice.quantity for invoice in invoices if bill.amount")
    assert choose(here, [first, best], [best])[0] == best
    assert choose(spot(parser()), [first], [best]) == ()


# Documents and files.


def test_open_documents_are_shown_as_they_are_now(desk: Desk, tmp_path: Path) -> None:
    async def scene() -> None:
        other = desk.open(tmp_path / "shop" / "billing.py", parser())
        doc = desk.open(tmp_path / "shop" / "new.py", HERE)
        assert desk.at(doc) == ()
        edit = after(other, (0, 0), (40, 0), invoices(lines=12))
        desk.context.edited(edit)
        assert desk.at(doc) == ()  # the prompt stays what it was while the cursor is near
        far = document(doc.uri, "\n" * 40 + HERE)
        assert desk.at(far) == (Chunk("shop/billing.py", invoices(lines=12)),)
        desk.context.closed(edit.after)
        assert desk.at(document(doc.uri, "\n" * 80 + HERE)) == ()
        await desk.context.close()

    on_loop(scene)


def test_line_ends_and_tabs_are_the_models(desk: Desk, tmp_path: Path) -> None:
    async def scene() -> None:
        text = invoices(lines=12).replace("    ", "\t")
        desk.open(tmp_path / "shop" / "billing.py", text.replace("\n", "\r\n"))
        doc = desk.open(tmp_path / "shop" / "new.py", HERE.replace("\n", "\r\n"))
        assert desk.at(doc) == (Chunk("shop/billing.py", text),)
        await desk.context.close()

    on_loop(scene)


def test_what_has_been_written_here_meanwhile_is_no_longer_shown(desk: Desk, tmp_path: Path) -> None:
    async def scene() -> None:
        desk.open(tmp_path / "shop" / "billing.py", invoices(lines=12))
        doc = desk.open(tmp_path / "shop" / "new.py", HERE)
        assert len(desk.at(doc)) == 1
        assert desk.at(document(doc.uri, "import shop\n\n\n" + invoices(lines=12))) == ()
        await desk.context.close()

    on_loop(scene)


def test_files_of_the_folder_are_read_the_nearest_first(desk: Desk, tmp_path: Path) -> None:
    for name in ("shop/billing.py", "far/away/other.py", "shop/notes.txt", ".hidden/x.py", "venv/y.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(invoices(lines=12), "utf-8")
    here = (tmp_path / "shop" / "new.py").as_posix()
    found = [Path(path).relative_to(tmp_path).as_posix() for path in near(here, tmp_path.as_posix())]
    assert found == ["shop/billing.py", "far/away/other.py"]

    async def scene() -> None:
        doc = desk.open(tmp_path / "shop" / "new.py", HERE)
        assert desk.at(doc) == ()  # a completion does not wait for it
        await desk.settle()
        shown = desk.at(document(doc.uri, "\n" * 40 + HERE))
        assert shown == (Chunk("shop/billing.py", invoices(lines=12)),)  # the other one says the same
        await desk.context.close()

    on_loop(scene)


def test_an_open_files_copy_on_disk_is_not_shown_however_the_client_quotes_it(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "shop" / "a+b@home.py").write_text(invoices(lines=12), "utf-8")
    (tmp_path / "shop" / "new~1.py").write_text(invoices(lines=12), "utf-8")

    async def scene() -> None:
        doc = document((tmp_path / "shop" / "new%7E1.py").as_uri().replace("%257E", "%7E"), HERE)
        desk.context.opened(doc)
        await desk.settle()
        assert [chunk.path for chunk in desk.at(doc)] == ["shop/a+b@home.py"]
        quoted = (tmp_path / "shop" / "x").as_uri()[:-1] + "a%2Bb%40home.py"
        desk.context.opened(document(quoted, parser()))
        await desk.settle()
        assert desk.at(document(doc.uri, "\n" * 40 + HERE)) == ()
        await desk.context.close()

    on_loop(scene)


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    file, gate = tmp_path / "a.py", PrivacyGate()
    file.write_text(invoices(lines=12), "utf-8")
    first = read(file.as_posix(), None, gate)
    assert first is not None
    assert read(file.as_posix(), first, gate) is first
    file.write_text(parser(), "utf-8")
    os.utime(file, ns=(1, 1))
    second = read(file.as_posix(), first, gate)
    assert second is not None
    assert second.pieces[0].text != first.pieces[0].text
    file.write_bytes(b"\xff\xfe not text")
    assert read(file.as_posix(), second, gate) is None
    file.unlink()
    assert read(file.as_posix(), second, gate) is None


def test_text_that_was_cut_out_is_remembered(desk: Desk, tmp_path: Path) -> None:
    async def scene() -> None:
        old = desk.open(tmp_path / "shop" / "old.py", "A = 1\n" + invoices(lines=12))
        doc = desk.open(tmp_path / "shop" / "new.py", HERE)
        edit = after(old, (1, 0), (13, 0), "")
        desk.context.edited(edit)
        assert desk.at(doc) == (Chunk("shop/old.py", invoices(lines=12)),)
        await desk.context.close()

    on_loop(scene)


def test_kinds_of_files_that_help_each_other() -> None:
    assert kind_of("/a/b.ts") == kind_of("C:/x.JSX") != kind_of("a.py")
    assert kind_of("a.h") == kind_of("b.cpp")
    assert kind_of("notes.txt") == kind_of("data.json") == kind_of("") == ""


# Privacy.


def test_each_text_passes_the_gate_when_it_is_read_and_when_it_is_shown(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.py\n", "utf-8")
    for name in ("billing", "ignored", "secret"):
        (tmp_path / "shop" / f"{name}.py").write_text(invoices(lines=12), "utf-8")
    desk.gate = PrivacyGate(exclude=("secret.py",), folders=desk.roots)

    async def scene() -> None:
        desk.open(tmp_path / "shop" / "secret.py", invoices(lines=12))
        doc = desk.open(tmp_path / "shop" / "new.py", HERE)
        await desk.settle()
        assert [chunk.path for chunk in desk.at(doc)] == ["shop/billing.py"]
        desk.gate = PrivacyGate(exclude=("secret.py", "billing.py"), folders=desk.roots)
        assert desk.at(doc) == ()  # at once, not only where the cursor goes next
        assert desk.at(document(doc.uri, "\n" * 40 + HERE)) == ()
        assert (tmp_path / "shop" / "billing.py").as_posix() not in desk.context._library._files
        await desk.context.close()

    on_loop(scene)


def test_nothing_is_read_for_a_document_that_is_excluded_or_in_no_folder(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    desk = Desk(tmp_path / "root")
    desk.gate = PrivacyGate(exclude=("secret.py",), folders=desk.roots)
    for path in ("root/secret.py", "root/notes.txt", "elsewhere.py"):
        desk.open(tmp_path / path, "x = 1\n")
    assert desk.context._reader is None


def test_folders_of_the_workspace_are_kept_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        root.mkdir()
    (two / "billing.py").write_text(invoices(lines=12), "utf-8")
    desk = Desk(one, two)

    async def scene() -> None:
        desk.open(two / "open.py", invoices(lines=12))
        doc = desk.open(one / "new.py", HERE)
        await desk.settle()
        assert desk.at(doc) == ()
        inside = desk.open(two / "new.py", HERE)
        assert len(desk.at(inside)) == 1
        outside = desk.open(tmp_path / "alone.py", HERE)
        assert desk.at(outside) == ()
        await desk.context.close()

    on_loop(scene)


def test_the_server_asks_with_pieces_of_the_workspaces_files(
    start: Callable[..., Wire], answers: Answers, tmp_path: Path
) -> None:
    wire = start()
    folder = {"uri": tmp_path.as_uri(), "name": "shop"}
    wire.initialize({**WITH_INLINE, "workspace": {"workspaceFolders": True}}, workspaceFolders=[folder])
    wire.open((tmp_path / "shop" / "billing.py").as_uri(), invoices(lines=12))
    new = (tmp_path / "new.py").as_uri()
    wire.open(new, HERE)
    wire.complete(new, 4, len(HERE.rpartition("\n")[2]), triggerKind=1)
    (entry,) = [entry for entry in answers.log() if entry["document"] == new]
    assert entry["context"] == ["shop/billing.py"]
    assert entry["suffix"] == ""
    wire.close_documents()
