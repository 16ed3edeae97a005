"""What happens to the open documents, told to the parts that watch it: history, context, feedback, learning.

All of it runs in the event loop, between the client's message and the answer to the next: a listener that has
much to do puts it off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from velospec_lsp.completion.offer import Outcome
    from velospec_lsp.completion.site import Query
    from velospec_lsp.documents import Change, Document


@dataclass(frozen=True, slots=True)
class Edit:
    """One message of changes: each of `changes` counts in the text that those before it left."""

    before: Document
    after: Document
    changes: tuple[Change, ...]


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
        """What came of it. Not told where the request was superseded or cancelled."""

    def accepted(self, identity: str) -> None:
        """The client has inserted the offer of that id."""


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
