"""What becomes of each offer, told from the changes of its document and from what is asked next.

No editor tells that an offer was refused or accepted in part, and not all tell that it was accepted at all.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile

from velospec_lsp.completion.offer import Offer, Outcome, Silence
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Document
from velospec_lsp.encoding import content_length
from velospec_lsp.events import Decision, Edit, Fate, Listener
from velospec_lsp.text import Place, Text, behind, split_lines, to_lf

_READ_SECONDS = 0.25  # what was visible for less was not read
_REGRET_SECONDS = 10.0  # a deletion within this time, or among the next edits, is about the offer
_REGRET_EDITS = 3
_DONE = 200  # offers whose fate is known, so that it is told once


@dataclass(slots=True)
class _Shown:
    """An offer on the screen, of which `written` characters are in the document."""

    offer: Offer
    others: tuple[Offer, ...]
    document: Document
    since: float
    written: int
    taken: int | None = None  # where the first piece began that was inserted by more than a key


@dataclass(slots=True)
class _Accepted:
    """What was inserted of an offer, while it may still be deleted again."""

    decision: Decision
    start: Place
    piece: str
    until: float
    edits: int = 0


class FateWatch(Listener):
    """Follows the offers of each document; `tell` hears of what becomes of them."""

    def __init__(self, tell: Callable[[Decision], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._shown: dict[str, _Shown] = {}  # by URI
        self._accepted: dict[str, _Accepted] = {}  # the last one of each document
        self._done: OrderedDict[str, None] = OrderedDict()

    def answered(self, query: Query, outcome: Outcome) -> None:
        uri, shown = query.document.uri, self._shown.get(query.document.uri)
        if isinstance(outcome, Silence):
            self._shown.pop(uri, None)
            return
        first = outcome[0]
        if first.id in self._done:
            return  # it was accepted in part or left: the rest of it is no other offer
        if shown is not None and shown.offer.id == first.id:
            shown.others = outcome[1:]
            if first.start == shown.offer.start and first.text.startswith(shown.offer.text):
                shown.offer = first  # it goes on further by now
            return
        written = max(query.cursor.index - first.start.index, 0)
        self._shown[uri] = _Shown(first, outcome[1:], query.document, self._clock(), written)
        self._tell(Decision(Fate.SHOWN, first.id, query.document, first.start, first.text, written))

    def asked(self, query: Query) -> None:
        """The cursor is where something is asked for: an offer that does not end there was left."""
        shown = self._shown.get(query.document.uri)
        if shown is None or query.selection is not None:
            return
        if query.cursor != behind(shown.offer.start, shown.offer.text[: shown.written]):
            self._left(shown)

    def edited(self, edit: Edit) -> None:
        accepted = self._accepted.get(edit.after.uri)
        if accepted is not None:
            self._regret(accepted, edit)
        shown = self._shown.get(edit.after.uri)
        if shown is not None:
            self._follow(shown, edit)

    def closed(self, document: Document) -> None:
        self._shown.pop(document.uri, None)
        self._accepted.pop(document.uri, None)

    def accepted(self, identity: str) -> None:
        """The client says so. Most often the change of the document has told it before."""
        for shown in list(self._shown.values()):
            if shown.offer.id == identity:
                shown.taken = shown.written if shown.taken is None else shown.taken
                self._end(shown, Fate.ACCEPTED, len(shown.offer.text))

    def _follow(self, shown: _Shown, edit: Edit) -> None:
        if _reaches_before(edit, shown.offer.start):
            self._shown.pop(edit.after.uri, None)  # the place has moved: what becomes of it is not known
            return
        begin, end = _last_change(edit)
        if begin > behind(shown.offer.start, shown.offer.text[: shown.written]):
            return  # further down
        now = agreement(edit.after.text, shown.offer.start, shown.offer.text, end)
        for other in shown.others:
            there = agreement(edit.after.text, other.start, other.text, end)
            if there > now and other.start == shown.offer.start:
                shown.offer, now = other, there  # the user has chosen this one
        if now > shown.written:
            self._went_on(shown, edit, now)
        elif shown.taken is not None and now <= shown.taken:
            self._left(shown)  # what was inserted of it is gone
            self._regret(self._accepted[edit.after.uri], edit)
        elif _against(edit, shown, now):
            self._left(shown)
        else:
            shown.written = now

    def _went_on(self, shown: _Shown, edit: Edit, now: int) -> None:
        text = shown.offer.text
        if shown.taken is None and _is_piece(edit, text, shown.written, now):
            shown.taken = shown.written
        shown.written = now
        if now == len(text):
            self._end(shown, Fate.TYPED if shown.taken is None else Fate.ACCEPTED, now)

    def _left(self, shown: _Shown) -> None:
        if shown.taken is not None:
            self._end(shown, Fate.PARTLY, shown.written)
        elif self._clock() - shown.since >= _READ_SECONDS:
            self._end(shown, Fate.REJECTED, shown.written)
        else:
            self._shown.pop(shown.document.uri, None)  # gone before it could be read

    def _end(self, shown: _Shown, fate: Fate, kept: int) -> None:
        offer, uri = shown.offer, shown.document.uri
        self._shown.pop(uri, None)
        if fate is not Fate.REJECTED:
            self._done[offer.id] = None
            while len(self._done) > _DONE:
                self._done.popitem(last=False)
        decision = Decision(fate, offer.id, shown.document, offer.start, offer.text, kept)
        if fate in (Fate.ACCEPTED, Fate.PARTLY) and shown.taken is not None:
            start = behind(offer.start, offer.text[: shown.taken])
            until = self._clock() + _REGRET_SECONDS
            self._accepted[uri] = _Accepted(decision, start, offer.text[shown.taken : kept], until)
        self._tell(decision)

    def _regret(self, accepted: _Accepted, edit: Edit) -> None:
        accepted.edits += 1
        late = self._clock() > accepted.until and accepted.edits > _REGRET_EDITS
        if late or _reaches_before(edit, accepted.start):
            self._accepted.pop(edit.after.uri, None)
            return
        left = agreement(edit.after.text, accepted.start, accepted.piece, None)
        if 2 * left < len(accepted.piece):
            self._accepted.pop(edit.after.uri, None)
            kept = accepted.decision.kept - len(accepted.piece) + left
            self._tell(replace(accepted.decision, fate=Fate.DELETED, document=edit.after, kept=kept))


def agreement(text: Text, start: Place, expected: str, end: Place | None) -> int:
    """How many characters at the beginning of `expected` (LF line ends) stand at `start`, up to `end`."""
    count = 0
    last = text.line_count - 1 if end is None else end.line
    for number, part in enumerate(expected.split("\n"), start.line):
        if number > last:
            return count - 1  # the line break before it is missing
        line = text.line(number)
        stop = content_length(line) if end is None or number < end.line else end.index
        content = line[start.index if number == start.line else 0 : stop]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(part, content, strict=False)))
        count += same
        if same < len(part) or len(content) > same:
            return count
        count += 1
    return min(count, len(expected))


def _reaches_before(edit: Edit, place: Place) -> bool:
    """Whether `edit` changes anything before `place`, or no one knows where."""
    starts = [edit.after.place(change.start) for change in edit.changes if change.start is not None]
    return not starts or len(starts) < len(edit.changes) or min(starts) < place


def _last_change(edit: Edit) -> tuple[Place, Place]:
    """Where the last change begins and ends by now."""
    change = edit.changes[-1]
    start = edit.after.place(change.start) if change.start is not None else Place(0, 0)
    return start, edit.after.text.clamp(behind(start, to_lf(split_lines(change.text))))


def _against(edit: Edit, shown: _Shown, now: int) -> bool:
    """Whether `edit` puts something else where the offer's text would go on, or instead of it."""
    tip = behind(shown.offer.start, shown.offer.text[:now])
    return any(
        change.text.strip("\r\n") and change.start is not None and edit.after.place(change.start) <= tip
        for change in edit.changes
    )


def _is_piece(edit: Edit, text: str, before: int, now: int) -> bool:
    """Whether the characters from `before` to `now` of the offer came at once, up to a word's or line's end.

    Editors send keys that follow fast together, and indent new lines by themselves: neither is a piece.
    """
    piece = text[before:now]
    in_word = now < len(text) and _is_word(text[now - 1]) and _is_word(text[now])
    if len(edit.changes) != 1 or len(piece) < 2 or not piece.strip() or in_word:
        return False
    return to_lf(split_lines(edit.changes[0].text)).endswith(piece)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
