"""Drafts what the structure of the code obliges to: closers, colons, line ends, indentation in and out.

A shadow of the syntax tree follows the text: open brackets, strings and comments, the statement under way
and the blocks around it; of HTML the open elements (`structure.places`). Where these leave little choice, the
text that must follow is drafted; never inside a string or comment. Knows no grammar beyond that, no names.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.core.ids import common_length
from velospec.proposers.cursor import before_cursor
from velospec.proposers.structure.duties import Reason
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.places import Place, start

_PRIORS = {
    Reason.BLOCK: 0.85,
    Reason.HEADER: 0.9,
    Reason.DEFINITION: 0.7,
    Reason.CONDITION: 0.4,
    Reason.LEAVE: 0.8,
    Reason.RETURN: 0.4,
    Reason.NEXT: 0.4,
    Reason.CLOSE: 0.3,
    Reason.LINE: 0.4,
    Reason.SEMICOLON: 0.8,
    Reason.BRACE: 0.6,
    Reason.ITEM: 0.6,
    Reason.ELEMENT: 0.6,
}


class AstShadow:
    """The proposer `ast_shadow`. Its evidence is four times the reason of the draft, plus its detail."""

    name = "ast_shadow"

    def __init__(self, vocabulary: Vocabulary, *, language: str = "") -> None:
        self._vocabulary = vocabulary
        self._encoder = Encoder(vocabulary)
        self._ids: list[int] = []
        self._places: list[Place] = []  # after each id
        self._language = language
        self._start = start(language)

    def use_language(self, name: str) -> None:
        """The language of the next request; one whose structure is not known gets no drafts."""
        if name != self._language:
            self._language = name
            self._start = start(name)
            self._ids.clear()
            self._places.clear()

    def begin(self, ids: Sequence[int]) -> None:
        """Start a request; what `ids` have in common with the last one's text need not be read again."""
        text = before_cursor(ids, self._vocabulary.control_ids)
        common = common_length(self._ids, text)
        del self._ids[common:], self._places[common:]
        self.extend(text[common:])

    def extend(self, ids: Sequence[int]) -> None:
        place = self._places[-1] if self._places else self._start
        if place is None:
            return
        for token in ids:
            place = place.follow(self._vocabulary.piece(token))
            self._ids.append(token)
            self._places.append(place)

    def propose(self, limit: int) -> Draft:
        place = self._places[-1] if self._places and limit > 0 else None
        owed = place.owed() if place is not None else None
        if place is None or owed is None:
            return EMPTY
        pending, duty = owed
        text = duty.text[len(pending) :]
        if not text or not duty.text.startswith(pending):
            return EMPTY
        # Whitespace at the end joins what follows it; a letter stands for that.
        ids = self._encoder.after(self._ids, place.open_bytes, text + b"x", len(text))
        if not ids:
            return EMPTY
        return Draft(ids[:limit], self.name, 4 * duty.reason + duty.detail, _PRIORS[duty.reason])

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""
