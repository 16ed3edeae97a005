"""Prepares what would cost the first request time: the (de)serialising code that is made when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from pygls.protocol import LanguageServerProtocol

_DOCUMENT = {"uri": "file:///warm"}
_PLACE = {"line": 0, "character": 0}
_MESSAGES: tuple[dict[str, Any], ...] = (
    {
        "id": 1,
        "method": types.TEXT_DOCUMENT_INLINE_COMPLETION,
        "params": {"textDocument": _DOCUMENT, "position": _PLACE, "context": {"triggerKind": 2}},
    },
    {
        "method": types.TEXT_DOCUMENT_DID_CHANGE,
        "params": {
            "textDocument": {**_DOCUMENT, "version": 1},
            "contentChanges": [{"range": {"start": _PLACE, "end": _PLACE}, "text": ""}],
        },
    },
)


def warm(protocol: LanguageServerProtocol) -> None:
    """Read and write one message of each kind that the user waits for."""
    for message in _MESSAGES:
        protocol.structure_message({"jsonrpc": "2.0", **message})
    here = types.Range(types.Position(0, 0), types.Position(0, 0))
    command = types.Command("", "velospec.accepted", arguments=[""])
    item = types.InlineCompletionItem("", range=here, command=command)
    response = types.InlineCompletionResponse(id=1, result=[item])
    protocol._converter.unstructure(response)  # noqa: SLF001  # there is no other way to it
