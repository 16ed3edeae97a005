"""velospec/text: the server's copy of an open document, to compare with the editor's when they may differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from velospec_lsp.server import Server


def register(server: Server) -> None:
    """Register the request: `{uri}` in, the text or null (no such open document) out."""

    @server.feature("velospec/text")
    def text(params: Any) -> str | None:
        document = server.documents.get(str(getattr(params, "uri", "")))
        return str(document.text) if document else None
