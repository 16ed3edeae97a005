"""textDocument/inlineCompletion. Never an error: null if superseded, an empty list if there is nothing."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec_lsp.completion.offer import Outcome, Silence
from velospec_lsp.completion.site import Query, Selection
from velospec_lsp.documents import Document
from velospec_lsp.handlers.convert import accepted_command, to_place, to_range

if TYPE_CHECKING:
    from velospec_lsp.server import Server

Items = list[types.InlineCompletionItem]


def register(server: Server) -> None:
    """Register the handler."""

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    def inline_completion(params: types.InlineCompletionParams) -> Items | Awaitable[Items | None]:
        uri = params.text_document.uri
        document = server.documents.get(uri)
        if document is None:
            return []
        query = _query(document, params)
        answer = server.arbiter.submit("inline", uri, query, lambda: server.complete(query))
        return _items(server, answer, document)


def _query(document: Document, params: types.InlineCompletionParams) -> Query:
    selected = params.context.selected_completion_info
    selection = None
    if selected is not None:
        start, end = (to_place(document, at) for at in (selected.range.start, selected.range.end))
        selection = Selection(start, end, selected.text)
    manual = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    return Query(document, to_place(document, params.position), manual, selection)


async def _items(server: Server, answer: Awaitable[Outcome | None], document: Document) -> Items | None:
    outcome = await answer
    # What was asked for another text would be shown, and accepted, at the wrong place by some clients. The
    # request for the text as it is by now is on its way.
    if outcome is None or server.documents.get(document.uri) is not document:
        return None
    if isinstance(outcome, Silence):
        return []
    return [
        types.InlineCompletionItem(
            insert_text=offer.text,
            range=to_range(document, offer.start, offer.end),
            command=accepted_command(offer),
        )
        for offer in outcome
    ]
