"""textDocument/didOpen, didChange, didClose, didSave and workspace folders: what the editor has open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec_lsp.documents import Change, Position
from velospec_lsp.events import Edit

if TYPE_CHECKING:
    from velospec_lsp.server import Server


def register(server: Server) -> None:
    """Register the handlers."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        open_document(server, params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        change_document(server, params.text_document, params.content_changes)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            server.listeners.saved(document)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        close_document(server, params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.make_gate()


def open_document(server: Server, item: types.TextDocumentItem) -> None:
    """A document, or a cell of a notebook, was opened."""
    document = server.documents.open(item.uri, str(item.language_id), item.version, item.text)
    server.listeners.opened(document)
    server.prepare(item.uri)


def change_document(
    server: Server,
    named: types.VersionedTextDocumentIdentifier,
    changed: Sequence[types.TextDocumentContentChangeEvent],
) -> None:
    """A document, or a cell of a notebook, was edited."""
    changes = tuple(_change(change) for change in changed)
    before = server.documents.get(named.uri)
    document = server.documents.change(named.uri, named.version, changes)
    if document is not None and before is not None:
        server.edits.changed(document)
        server.listeners.edited(Edit(before, document, changes))


def close_document(server: Server, uri: str) -> None:
    """A document, or a cell of a notebook, was closed."""
    document = server.documents.get(uri)
    server.documents.close(uri)
    if document is not None:
        server.listeners.closed(document)
    server.arbiter.withdraw(uri)
    server.edits.withdraw(uri)
    server.pipeline.cache.forget(uri)
    server.traces.pop(uri, None)


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return Change(change.text)
    start, end = change.range.start, change.range.end
    return Change(change.text, Position(start.line, start.character), Position(end.line, end.character))
