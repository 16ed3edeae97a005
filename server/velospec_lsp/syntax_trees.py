"""The syntax trees of the open documents, made when they are asked for and kept in step with the text.

A tree costs a full parse once; after an edit, only what the edit touched is parsed anew. Of a huge file there
is the tree of a window around the cursor.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from velospec_lsp.events import Listener
from velospec_lsp.syntax import GRAMMARS, Syntax
from velospec_lsp.text import Place, Text, to_lf

if TYPE_CHECKING:
    from tree_sitter import Node

    from velospec_lsp.documents import Document

WHOLE = 20_000
"""Lines up to which a document is parsed as a whole."""

_WINDOW = 4_000  # lines parsed of a longer one
_STRIDE = 1_000  # a window begins at a multiple of this, to stay where it is while the cursor moves about
_KEPT = 12  # documents; a tree takes some ten times the memory of its text


@dataclass(frozen=True, slots=True)
class View:
    r"""The tree of a document, or of the window that begins with line `first`; its text has \n line ends."""

    syntax: Syntax
    first: int = 0

    def beside(self, place: Place) -> Node:
        """The smallest node that holds the character before `place`."""
        return self.syntax.beside(place.line - self.first, place.index)

    def line_of(self, node: Node) -> int:
        """The document's line on which `node` begins."""
        return self.first + node.start_point[0]


@dataclass(slots=True)
class _Kept:
    language: str
    text: Text
    view: View


class Trees(Listener):
    """One tree for each of the documents that were asked about last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def view(self, document: Document, line: int) -> View | None:
        """The tree of `document` around `line`; None where there is no grammar for its language."""
        if document.language not in GRAMMARS:
            return None
        kept = self._kept.get(document.uri)
        first, stop = _window(document.text, line)
        old = None
        if kept is not None and kept.language == document.language and kept.view.first == first:
            if kept.text is document.text:
                return kept.view
            old = kept.view.syntax
        text = to_lf([str(document.text)] if stop is None else document.text.lines(first, stop))
        view = View(Syntax(document.language, text, old), first)
        self._kept[document.uri] = _Kept(document.language, document.text, view)
        self._kept.move_to_end(document.uri)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return view

    def closed(self, document: Document) -> None:
        self._kept.pop(document.uri, None)


def _window(text: Text, line: int) -> tuple[int, int | None]:
    """The first line to parse, and the one before which to stop; None for the end."""
    if text.line_count <= WHOLE:
        return 0, None
    first = max(0, line - _WINDOW // 2) // _STRIDE * _STRIDE
    return first, first + _WINDOW
