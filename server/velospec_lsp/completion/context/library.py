"""The pieces there are: of open documents as they are, of files as they were read, and of what was cut out.

Each belongs to one workspace folder and to one kind of source file, and is found by these. What the privacy
gate no longer allows is dropped when it is next looked at, so that it is never shown. Event loop only.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from velospec_lsp.completion.context.files import ReadFile, kind_of
from velospec_lsp.completion.context.pieces import Piece, cut, shared_lines
from velospec_lsp.documents import Document
from velospec_lsp.events import Edit
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.text import Text, to_lf

_FILES = 1000  # kept of all folders and kinds; some 15 MB
_LONGEST = 5000  # lines of an open document that is cut into pieces
_CUT_OUT = 16  # texts taken out of documents that are remembered
_CUT_LINES = 6  # that such a text has at least
_SAME = 0.9  # share of lines of a text that is remembered already


@dataclass(slots=True)
class _Open:
    document: Document
    cut_at: Text | None = None  # the text that `pieces` are of
    pieces: tuple[Piece, ...] = ()


class Library:
    """All pieces that may be shown, by the folder they belong to."""

    def __init__(self, gate: Callable[[], PrivacyGate], folder_of: Callable[[str], str]) -> None:
        """`gate` gives the gate as it is now, `folder_of` the workspace folder of a URI."""
        self._gate = gate
        self._folder_of = folder_of
        self._open: dict[str, _Open] = {}
        self._files: OrderedDict[str, ReadFile] = OrderedDict()  # by path
        self._cut_out: deque[Piece] = deque(maxlen=_CUT_OUT)

    def keep_open(self, document: Document) -> None:
        """`document` is open, and this is its text from now on."""
        entry = self._open.setdefault(document.uri, _Open(document))
        entry.document = document

    def close(self, uri: str) -> None:
        """The document is no longer open; its file counts again, if it was read."""
        self._open.pop(uri, None)

    def keep_cut_out(self, edit: Edit) -> None:
        """Remember what `edit` took out of the document, if it is some lines: it may be needed elsewhere."""
        if len(edit.changes) != 1 or edit.changes[0].start is None or edit.changes[0].end is None:
            return
        first, last = (edit.before.place(at) for at in (edit.changes[0].start, edit.changes[0].end))
        if last.line - first.line < _CUT_LINES:
            return
        text = to_lf(edit.before.text.lines(first.line, min(last.line, first.line + 2 * _LONGEST)))
        for piece in cut(edit.before.uri, text):
            old = [kept for kept in self._cut_out if shared_lines(kept.lines, piece.lines) > _SAME]
            for kept in old:
                self._cut_out.remove(kept)
            self._cut_out.append(piece)

    def known(self, path: str) -> ReadFile | None:
        """The file as it was read last."""
        return self._files.get(path)

    def put(self, path: str, file: ReadFile | None) -> None:
        """The file as it was read just now; None where it is gone."""
        self._files.pop(path, None)
        if file is not None:
            self._files[path] = file
        while len(self._files) > _FILES:
            self._files.popitem(last=False)

    def allows(self, piece: Piece) -> bool:
        """Whether `piece` may be shown now, by the file it is of; all of a file that may not is dropped."""
        opened = self._open.get(piece.uri)
        size = opened.document.text.size if opened else len(piece.text)
        if self._gate().rule(piece.uri, size).allowed:
            return True
        self.forget(piece.uri)
        return False

    def forget(self, uri: str) -> None:
        """Drop the pieces of a file; those of an open document are made anew where it may be shown."""
        self._files.pop(uri_path(uri) or "", None)
        for kept in [kept for kept in self._cut_out if kept.uri == uri]:
            self._cut_out.remove(kept)
        entry = self._open.get(uri)
        if entry is not None:
            entry.cut_at, entry.pieces = None, ()

    def pieces(self, uri: str) -> Iterator[Piece]:
        """The pieces of other files of the same folder and kind as `uri`."""
        folder, path = self._folder_of(uri), uri_path(uri) or ""
        kind = kind_of(path)
        if not kind:
            return
        for other, entry in self._open.items():
            if other != uri and self._alike(other, folder, kind):
                yield from self._cut(entry)
        opened = {uri_path(other) for other in self._open} | {path}  # clients quote URIs in ways of their own
        for other, file in self._files.items() if folder else ():
            usable = kind_of(other) == kind and other not in opened
            if usable and file.pieces and self._folder_of(file.pieces[0].uri) == folder:
                yield from file.pieces
        for piece in self._cut_out:
            if self._alike(piece.uri, folder, kind):
                yield piece

    def _alike(self, uri: str, folder: str, kind: str) -> bool:
        return kind_of(uri_path(uri) or "") == kind and self._folder_of(uri) == folder

    def _cut(self, entry: _Open) -> tuple[Piece, ...]:
        text = entry.document.text
        if entry.cut_at is not text:
            entry.cut_at = text
            lines = text.lines(0, _LONGEST)
            entry.pieces = tuple(cut(entry.document.uri, to_lf(lines)))
        return entry.pieces
