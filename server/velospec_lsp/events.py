"""What happens to the open documents, told to the parts that watch it: history, context, feedback, learning.

All of it runs in the event loop, between the client's message and the answer to the next: a listener that has
much to do puts it off.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from velospec_lsp.completion.offer import Outcome
    from velospec_lsp.completion.site import Query
    from velospec_lsp.documents import Change, Document
    from velospec_lsp.text import Place


@dataclass(frozen=True, slots=True)
class Edit:
    """One message of changes: each of `changes` counts in the text that those before it left."""

    before: Document
    after: Document
    changes: tuple[Change, ...]


class Fate(StrEnum):
    """What became of an offer; the values are the kinds of `velospec.core.acceptance_counts`."""

    SHOWN = "shown"  # that it was answered; each offer that was shown comes to one of the others, or to none
    ACCEPTED = "accepted"  # inserted to its end
    PARTLY = "partly"  # a word or a line of it was inserted
    TYPED = "typed"  # typed through to its end
    REJECTED = "rejected"  # long enough to be read, then typed against or left
    DELETED = "deleted"  # soon after it was accepted, wholly or partly, which was told before


@dataclass(frozen=True, slots=True)
class Decision:
    """What the user made of an offer: of its `text`, `kept` characters were in the document.

    `document` is the snapshot that the offer was made for, `start` where the text begins. It is the user's
    text: who hears of it keeps it to themselves.
    """

    fate: Fate
    identity: str
    document: Document
    start: Place
    text: str
    kept: int


class Listener:
    """Hears of everything and does nothing; what watches the documents overrides what it needs."""

    def opened(self, document: Document) -> None:
        """A document is open from now on."""

    def edited(self, edit: Edit) -> None:
        """An open document was changed, by whomever."""

    def saved(self, document: Document) -> None:
        """An open document was written to its file."""

    def closed(self, document: Document) -> None:
        """A document is no longer open."""

    def asked(self, query: Query) -> None:
        """A completion is asked for; what was asked before of the same document does not count any more."""

    def answered(self, query: Query, outcome: Outcome) -> None:
        """What came of it. Not told where the request was superseded or cancelled, or the text changed."""

    def accepted(self, identity: str) -> None:
        """The client has inserted the offer of that id."""

    def decided(self, decision: Decision) -> None:
        """What became of an offer, as far as the changes of its document tell."""


class Listeners(Listener):
    """Tells each of its listeners, in the order in which they came."""

    def __init__(self) -> None:
        self._all: list[Listener] = []

    def add(self, listener: Listener) -> None:
        """Tell `listener` too from now on."""
        self._all.append(listener)

    def opened(self, document: Document) -> None:
        for listener in self._all:
            listener.opened(document)

    def edited(self, edit: Edit) -> None:
        for listener in self._all:
            listener.edited(edit)

    def saved(self, document: Document) -> None:
        for listener in self._all:
            listener.saved(document)

    def closed(self, document: Document) -> None:
        for listener in self._all:
            listener.closed(document)

    def asked(self, query: Query) -> None:
        for listener in self._all:
            listener.asked(query)

    def answered(self, query: Query, outcome: Outcome) -> None:
        for listener in self._all:
            listener.answered(query, outcome)

    def accepted(self, identity: str) -> None:
        for listener in self._all:
            listener.accepted(identity)

    def decided(self, decision: Decision) -> None:
        for listener in self._all:
            listener.decided(decision)
