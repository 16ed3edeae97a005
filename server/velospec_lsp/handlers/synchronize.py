"""textDocument/didOpen, didChange, didClose, didSave and workspace folders: what the editor has open."""

from __future__ import annotations

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
        opened = params.text_document
        document = server.documents.open(opened.uri, str(opened.language_id), opened.version, opened.text)
        server.listeners.opened(document)
        server.prepare(opened.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        changes = tuple(_change(change) for change in params.content_changes)
        before = server.documents.get(params.text_document.uri)
        document = server.documents.change(params.text_document.uri, params.text_document.version, changes)
        if document is not None and before is not None:
            server.edits.changed(document)
            server.listeners.edited(Edit(before, document, changes))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            server.listeners.saved(document)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        document = server.documents.get(uri)
        server.documents.close(uri)
        if document is not None:
            server.listeners.closed(document)
        server.arbiter.withdraw(uri)
        server.edits.withdraw(uri)
        server.pipeline.cache.forget(uri)
        server.traces.pop(uri, None)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_folders(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.make_gate()


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return Change(change.text)
    start, end = change.range.start, change.range.end
    return Change(change.text, Position(start.line, start.character), Position(end.line, end.character))
