"""What of other files goes into a document's prompts: gathered as things happen, chosen place by place.

Reading files is left to a thread, a few at a time; a completion never waits for it and takes what there is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from velospec.core.request import Chunk
from velospec_lsp.completion.context.choice import Place, choose
from velospec_lsp.completion.context.files import ReadFile, kind_of, near, read
from velospec_lsp.completion.context.library import Library
from velospec_lsp.completion.context.pieces import Piece
from velospec_lsp.completion.site import Query, Site
from velospec_lsp.documents import Document
from velospec_lsp.events import Edit, Listener
from velospec_lsp.privacy import PrivacyGate, uri_path

logger = logging.getLogger(__name__)

_NEAR = 24  # lines that the cursor may go without a new choice
_LOOKED_THROUGH = 6000  # pieces for one choice: 5 ms
_AT_A_TIME = 8  # files read in one go
_PAUSE = 0.02  # seconds between two goes


@dataclass(slots=True)
class _Shown:
    line: int  # of the cursor when this was chosen
    pieces: tuple[Piece, ...]


class Context(Listener):
    """Watches the documents, and tells what of others to show at a place. Event loop only."""

    def __init__(self, gate: Callable[[], PrivacyGate], folder_of: Callable[[str], str]) -> None:
        """`gate` gives the privacy gate as it is now, `folder_of` the workspace folder of a URI, or ""."""
        self._gate = gate
        self._folder_of = folder_of
        self._library = Library(gate, folder_of)
        self._shown: dict[str, _Shown] = {}
        self._waiting: dict[str, str] = {}  # files around which to read, with their folders; newest last
        self._reader: asyncio.Task[None] | None = None

    def opened(self, document: Document) -> None:
        self._library.keep_open(document)
        path, folder = uri_path(document.uri), self._folder_of(document.uri)
        if not path or not folder or not kind_of(path):
            return
        if self._gate().rule(document.uri, document.text.size).allowed:  # else nothing is completed there
            self._waiting[path] = folder
            if self._reader is None or self._reader.done():
                self._reader = asyncio.get_running_loop().create_task(self._read_around())

    def edited(self, edit: Edit) -> None:
        self._library.keep_open(edit.after)
        self._library.keep_cut_out(edit)

    def closed(self, document: Document) -> None:
        self._library.close(document.uri)
        self._shown.pop(document.uri, None)

    def forget(self, uri: str) -> None:
        """Drop what is kept of a file, also what other documents are shown of it."""
        self._library.forget(uri)
        self._shown.pop(uri, None)
        for shown in self._shown.values():
            shown.pieces = tuple(piece for piece in shown.pieces if piece.uri != uri)

    def at(self, query: Query, site: Site) -> tuple[Chunk, ...]:
        """What to show of other files at the cursor of `query`, in the order of the prompt.

        The same while the cursor stays near, unless a file may no longer be shown, or what is shown has been
        written here meanwhile.
        """
        uri, line = query.document.uri, query.cursor.line
        shown = self._shown.get(uri)
        place = Place.of(site)
        if shown is None or abs(shown.line - line) > _NEAR:
            before = shown.pieces if shown is not None else ()
            candidates = list(islice(self._library.pieces(uri), _LOOKED_THROUGH))
            still = [piece for piece in before if piece in candidates]  # and not changed meanwhile
            shown = _Shown(line, choose(place, candidates, still, self._library.allows))
            self._shown[uri] = shown
        shown.pieces = tuple(
            piece for piece in shown.pieces if not place.knows(piece) and self._library.allows(piece)
        )
        return tuple(Chunk(self._name(piece.uri), piece.text) for piece in shown.pieces)

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def _read_around(self) -> None:
        while self._waiting:
            path, folder = self._waiting.popitem()
            paths = await asyncio.to_thread(near, path, folder)
            for start in range(0, len(paths), _AT_A_TIME):
                batch = {other: self._library.known(other) for other in paths[start : start + _AT_A_TIME]}
                for other, file in (await asyncio.to_thread(_read_all, batch, self._gate())).items():
                    self._library.put(other, file)
                await asyncio.sleep(_PAUSE)
            logger.info("looked through %d files for completions", len(paths))

    def _name(self, uri: str) -> str:
        folder = self._folder_of(uri).rstrip("/") + "/"
        return (uri_path(uri) or "").removeprefix(folder)


def _read_all(known: dict[str, ReadFile | None], gate: PrivacyGate) -> dict[str, ReadFile | None]:
    return {path: read(path, file, gate) for path, file in known.items()}
