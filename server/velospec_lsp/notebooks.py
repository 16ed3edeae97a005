"""Which open documents are cells of a notebook, and what of the other cells stands around each.

A notebook is completed as one program: the code of the cells before, then the cell, then the code of those
behind it, the last included. Cells of other languages, and text, stand there as comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import TYPE_CHECKING

from velospec_lsp.completion.languages import language_of
from velospec_lsp.encoding import content_length

if TYPE_CHECKING:
    from velospec_lsp.documents import Document

_CHARACTERS = 20_000  # of other cells, on each side: whole cells, the nearest first


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the URI of its document, and whether it holds code."""

    uri: str
    code: bool


@dataclass(slots=True)
class _Notebook:
    uri: str
    cells: list[Cell] = field(default_factory=list)


class Notebooks:
    """The open notebooks, by their own URIs and by those of their cells."""

    def __init__(self) -> None:
        self._notebooks: dict[str, _Notebook] = {}
        self._of: dict[str, _Notebook] = {}  # by the URI of a cell
        self._placed: dict[str, tuple[list[object], Document]] = {}  # and what it was made of

    def open(self, uri: str, cells: Iterable[Cell]) -> None:
        """Take a notebook in; opening one that is open replaces it."""
        self.close(uri)
        self._notebooks[uri] = _Notebook(uri)
        self.splice(uri, 0, 0, cells)

    def splice(self, uri: str, start: int, count: int, cells: Iterable[Cell]) -> None:
        """Put `cells` in place of `count` of a notebook's cells from `start` on."""
        notebook = self._notebooks.get(uri)
        if notebook is None:
            return
        self._forget(notebook.cells[start : start + count])
        notebook.cells[start : start + count] = cells
        # All of them: one that was moved may have come to its new place before it left the old one.
        self._of.update({cell.uri: notebook for cell in notebook.cells})

    def tell(self, uri: str, cells: Iterable[Cell]) -> None:
        """Some cells of a notebook are of another kind now."""
        notebook = self._notebooks.get(uri)
        if notebook is not None:
            new = {cell.uri: cell for cell in cells}
            notebook.cells = [new.get(cell.uri, cell) for cell in notebook.cells]

    def close(self, uri: str) -> tuple[str, ...]:
        """Forget a notebook; returns the URIs of its cells."""
        notebook = self._notebooks.pop(uri, None)
        self._forget(notebook.cells if notebook else ())
        return tuple(cell.uri for cell in notebook.cells) if notebook else ()

    def cells(self, uri: str) -> tuple[str, ...]:
        """The URIs of a notebook's cells, in their order."""
        notebook = self._notebooks.get(uri)
        return tuple(cell.uri for cell in notebook.cells) if notebook else ()

    def place(self, document: Document, opened: Mapping[str, Document]) -> Document:
        """`document` with what stands around it, where it is a cell of a notebook; else as it is.

        The same object as long as nothing of it has changed.
        """
        notebook = self._of.get(document.uri)
        if notebook is None:
            return document
        made_of: list[object] = [
            document,
            *notebook.cells,
            *(opened.get(cell.uri) for cell in notebook.cells),
        ]
        known = self._placed.get(document.uri)
        if known is None or not _same(known[0], made_of):
            known = self._placed[document.uri] = (made_of, self._around(document, notebook, opened))
        return known[1]

    def _around(self, document: Document, notebook: _Notebook, opened: Mapping[str, Document]) -> Document:
        at = next(at for at, cell in enumerate(notebook.cells) if cell.uri == document.uri)
        before = _take(reversed(notebook.cells[:at]), document.language, opened)
        after = _take(notebook.cells[at + 1 :], document.language, opened)
        return replace(
            document,
            notebook=notebook.uri,
            before=tuple(line for lines in reversed(before) for line in [*lines, "\n"]),
            after=tuple(line for lines in after for line in ["\n", *lines]),
        )

    def _forget(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            self._of.pop(cell.uri, None)
            self._placed.pop(cell.uri, None)


def _same(one: list[object], other: list[object]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


def _take(cells: Iterable[Cell], language: str, opened: Mapping[str, Document]) -> list[list[str]]:
    """The lines of each of `cells`, as long as there is room; those that are empty are left out."""
    taken, room = [], _CHARACTERS
    for cell in cells:
        document = opened.get(cell.uri)
        if document is None or not document.text.size:
            continue
        room -= document.text.size
        if room < 0:
            break
        mark = "" if cell.code and document.language == language else _comment(language)
        lines = [line[: content_length(line)] for line in document.text.lines(0)]
        while lines and not lines[-1].strip():
            lines.pop()
        if lines:
            taken.append([f"{mark}{line}".rstrip(" ") + "\n" if mark else line + "\n" for line in lines])
    return taken


def _comment(language: str) -> str:
    """What begins a line comment of `language`."""
    spans = language_of(language).comments
    return next((f"{span.opener} " for span in spans if not span.close), "# ")
