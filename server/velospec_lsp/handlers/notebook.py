"""notebookDocument/didOpen, didChange, didSave, didClose: cells are documents, and know of each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec_lsp.handlers.synchronize import change_document, close_document, open_document
from velospec_lsp.notebooks import Cell

if TYPE_CHECKING:
    from velospec_lsp.server import Server

SYNC = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")], save=True)
"""All notebooks, with all of their cells: those in other languages are shown as comments."""


def register(server: Server) -> None:
    """Register the handlers."""

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        server.documents.notebooks.open(notebook.uri, _cells(notebook.cells))
        for item in params.cell_text_documents:
            open_document(server, item)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        if params.change.cells is not None:
            _change(server, params.notebook_document.uri, params.change.cells)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        for uri in server.documents.notebooks.cells(params.notebook_document.uri):
            document = server.documents.get(uri)
            if document is not None:
                server.listeners.saved(document)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        known = server.documents.notebooks.close(params.notebook_document.uri)
        _close(server, [*known, *(document.uri for document in params.cell_text_documents)])


def _change(server: Server, uri: str, changed: types.NotebookDocumentCellChanges) -> None:
    """First which cells there are, then what they hold: the client means them in this order."""
    notebooks = server.documents.notebooks
    if changed.structure is not None:
        array = changed.structure.array
        notebooks.splice(uri, array.start, array.delete_count, _cells(array.cells or ()))
        for item in changed.structure.did_open or ():
            open_document(server, item)
        for closed in changed.structure.did_close or ():
            close_document(server, closed.uri)
    notebooks.tell(uri, _cells(changed.data or ()))
    for content in changed.text_content or ():
        change_document(server, content.document, content.changes)


def _close(server: Server, uris: Iterable[str]) -> None:
    for uri in uris:
        if server.documents.get(uri) is not None:
            close_document(server, uri)


def _cells(cells: Iterable[types.NotebookCell]) -> list[Cell]:
    return [Cell(cell.document, cell.kind == types.NotebookCellKind.Code) for cell in cells]
