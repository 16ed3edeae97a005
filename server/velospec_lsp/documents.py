"""The open documents: what the editor has told, kept as immutable snapshots.

Replaces the document mirror of the protocol library, which splits lines where no editor does (form feed,
U+2028, ...) and needs time proportional to the file for each edit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from velospec_lsp.encoding import PositionEncoding, to_column, to_index, whole_characters
from velospec_lsp.notebooks import Notebooks
from velospec_lsp.text import Place, Text

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Position:
    """A place as the client counts: line from 0, column in units of the negotiated encoding."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Change:
    """One content change: `text` in place of `start`..`end`, or as the whole document where they are None."""

    text: str
    start: Position | None = None
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A snapshot of an open document. Later edits make new snapshots; this one stays as it is."""

    uri: str
    language: str
    version: int
    text: Text
    encoding: PositionEncoding
    notebook: str = ""  # the URI of the notebook that it is a cell of
    before: tuple[str, ...] = ()  # lines of the cells before it, with line ends
    after: tuple[str, ...] = ()  # of those behind it

    @property
    def home(self) -> str:
        """The URI of the file that its text is stored in."""
        return self.notebook or self.uri

    def place(self, position: Position) -> Place:
        """Where `position` lies; one that does not exist is moved to the nearest place that does."""
        if position.line < 0 or position.line >= self.text.line_count:
            return self.text.clamp(Place(position.line, 0))
        line = self.text.line(position.line)
        return Place(position.line, to_index(line, position.column, self.encoding))

    def position(self, place: Place) -> Position:
        """`place` as the client counts it."""
        return Position(place.line, to_column(self.text.line(place.line), place.index, self.encoding))

    def apply(self, change: Change) -> Document:
        """The snapshot after `change`, same version."""
        new = whole_characters(change.text)
        if change.start is None or change.end is None:
            return replace(self, text=Text.of(new))
        text = self.text.replace(self.place(change.start), self.place(change.end), new)
        return replace(self, text=text)


class Documents:
    """The documents that are open in the editor, by URI."""

    def __init__(self, encoding: PositionEncoding = PositionEncoding.UTF16) -> None:
        self.encoding = encoding
        self.notebooks = Notebooks()
        self._open: dict[str, Document] = {}

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        """Take a document in; opening one that is open replaces it."""
        document = Document(uri, language, version, Text.of(whole_characters(text)), self.encoding)
        self._open[uri] = document
        return self.notebooks.place(document, self._open)

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> Document | None:
        """Apply `changes` in order. A change of a document that is not open is ignored, and logged."""
        document = self._open.get(uri)
        if document is None:
            logger.warning("ignored a change of a document that is not open")
            return None
        for change in changes:
            document = document.apply(change)
        document = replace(document, version=version)
        self._open[uri] = document
        return self.notebooks.place(document, self._open)

    def close(self, uri: str) -> None:
        if self._open.pop(uri, None) is None:
            logger.warning("ignored the closing of a document that is not open")

    def get(self, uri: str) -> Document | None:
        """The newest snapshot of `uri`; None if it is not open."""
        document = self._open.get(uri)
        return None if document is None else self.notebooks.place(document, self._open)

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))
