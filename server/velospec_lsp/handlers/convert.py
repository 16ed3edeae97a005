"""Between the protocol's types and ours, for all handlers."""

from __future__ import annotations

from lsprotocol import types

from velospec_lsp.completion.offer import Offer
from velospec_lsp.documents import Document, Position
from velospec_lsp.text import Place

ACCEPTED = "velospec.accepted"


def to_place(document: Document, position: types.Position) -> Place:
    """Where the client's `position` lies."""
    return document.place(Position(position.line, position.character))


def to_range(document: Document, start: Place, end: Place) -> types.Range:
    """The range from `start` to `end` as the client counts."""
    first, last = document.position(start), document.position(end)
    return types.Range(types.Position(first.line, first.column), types.Position(last.line, last.column))


def accepted_command(offer: Offer) -> types.Command:
    """What the client runs when the user has accepted `offer`."""
    return types.Command("Accepted", ACCEPTED, arguments=[offer.id])
