"""textDocument/completion, for clients that have no inline completion: one entry of the popup."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec_lsp.completion.offer import Offer, Outcome, Silence
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Document
from velospec_lsp.handlers.convert import accepted_command, to_place, to_range
from velospec_lsp.text import Place

if TYPE_CHECKING:
    from velospec_lsp.server import Server

_TRIGGERS = [".", "(", "[", "{", "=", ","]
_LABEL = 60  # characters


def register(server: Server) -> None:
    """Register the handler; only before the reply to initialize has been made."""

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=_TRIGGERS))
    def completion(
        params: types.CompletionParams,
    ) -> types.CompletionList | Awaitable[types.CompletionList | None]:
        uri = params.text_document.uri
        document = server.documents.get(uri)
        if document is None or server.settings.completion == "never":
            return types.CompletionList(is_incomplete=False, items=[])
        context = params.context
        manual = context is not None and context.trigger_kind == types.CompletionTriggerKind.Invoked
        query = Query(document, to_place(document, params.position), manual)
        answer = server.arbiter.submit("popup", uri, query, lambda: server.complete(query))
        return _list(server, answer, query)


async def _list(
    server: Server, answer: Awaitable[Outcome | None], query: Query
) -> types.CompletionList | None:
    outcome = await answer
    if outcome is None or server.documents.get(query.document.uri) is not query.document:
        return None  # superseded, or asked for a text that is not there any more
    # One entry: a popup lists words of other sources too, and alternatives would only crowd it.
    items = [] if isinstance(outcome, Silence) else [_item(outcome[0], query)]
    # What comes after the next key is another completion.
    return types.CompletionList(is_incomplete=True, items=items)


def _item(offer: Offer, query: Query) -> types.CompletionItem:
    """The entry. It replaces the word at the cursor too, since clients sort out entries by that word."""
    document = query.document
    line = document.text.line(offer.start.line)
    start = _word_start(line, offer.start.index)
    text = line[start : offer.start.index] + offer.text
    first, _, rest = text.strip().partition("\n")
    label = first if len(first) <= _LABEL else first[: _LABEL - 1] + "…"
    return types.CompletionItem(
        label=f"{label} …" if rest else label,
        kind=types.CompletionItemKind.Text,
        detail="VeloSpec",
        documentation=types.MarkupContent(types.MarkupKind.Markdown, _fenced(text, document)),
        filter_text=text.partition("\n")[0],
        sort_text="\x00",
        insert_text_format=types.InsertTextFormat.PlainText,
        insert_text_mode=types.InsertTextMode.AsIs,
        text_edit=types.TextEdit(to_range(document, Place(offer.start.line, start), offer.end), text),
        command=accepted_command(offer),
    )


def _word_start(line: str, index: int) -> int:
    while index > 0 and (line[index - 1].isalnum() or line[index - 1] == "_"):
        index -= 1
    return index


def _fenced(text: str, document: Document) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{document.language}\n{text}\n{fence}"
