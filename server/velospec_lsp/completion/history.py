"""What was done to each open document lately: what a request that follows is to be judged by.

Kept are what kind of edits they were, their sizes, times and lines; and snapshots, which share nearly all of
their lines with the document, to know an undo when it comes.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from velospec_lsp.events import Edit, Listener
from velospec_lsp.text import Text, split_lines

if TYPE_CHECKING:
    from velospec_lsp.documents import Change, Document

_STROKES = 16  # edits remembered of a document
_DOCUMENTS = 50
_SMALL = 200  # characters up to which it is looked whether what was removed was blank
_KEY = 2  # characters that one key inserts or removes at most: a bracket and its closer, a pair of units


@dataclass(frozen=True, slots=True)
class Stroke:
    """One message of changes. `ended` are the lines on which its changes end, as they count after it."""

    at: float  # seconds of a clock that only runs forward
    inserted: int  # characters
    removed: int
    ended: tuple[int, ...] = ()  # empty where the whole text was replaced
    blank: bool = False  # only blanks were removed
    alike: bool = False  # several changes, all of the same text: several cursors
    back: bool = False  # the text is what it was before, some edits ago: an undo or a redo
    accepted: bool = False  # it was an offer that the user took

    @property
    def deletes(self) -> bool:
        """Whether it only took something away."""
        return self.removed > 0 and self.inserted == 0

    @property
    def one_key(self) -> bool:
        """Whether a single key does as much."""
        return len(self.ended) == 1 and max(self.inserted, self.removed) <= _KEY


@dataclass(frozen=True, slots=True)
class Past:
    """The last edits of one document, the newest last, and how many seconds ago that was made."""

    strokes: tuple[Stroke, ...] = ()
    age: float = float("inf")


@dataclass(slots=True)
class _Kept:
    strokes: deque[Stroke] = field(default_factory=lambda: deque(maxlen=_STROKES))
    texts: deque[Text] = field(default_factory=lambda: deque(maxlen=_STROKES))  # before each of them


class History(Listener):
    """The last edits of each document."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def past(self, uri: str) -> Past:
        """What was done to the document `uri` until now."""
        kept = self._kept.get(uri)
        if kept is None:
            return Past()
        return Past(tuple(kept.strokes), self._clock() - kept.strokes[-1].at)

    def edited(self, edit: Edit) -> None:
        kept = self._kept.setdefault(edit.after.uri, _Kept())
        self._kept.move_to_end(edit.after.uri)
        kept.strokes.append(_stroke(edit, self._clock(), kept.texts))
        kept.texts.append(edit.before.text)
        while len(self._kept) > _DOCUMENTS:
            self._kept.popitem(last=False)

    def accepted(self, identity: str) -> None:  # noqa: ARG002 - a listener's; the newest edit is that offer
        """The client inserts an offer, then says so: it was the newest edit of all."""
        if self._kept:
            strokes = next(reversed(self._kept.values())).strokes
            strokes[-1] = replace(strokes[-1], accepted=True)

    def closed(self, document: Document) -> None:
        self._kept.pop(document.uri, None)


def _stroke(edit: Edit, now: float, earlier: Sequence[Text]) -> Stroke:
    inserted = sum(len(change.text) for change in edit.changes)
    removed = edit.before.text.size + inserted - edit.after.text.size
    ended = _ended(edit.changes)
    stroke = Stroke(now, inserted, removed, ended, alike=_alike(edit.changes))
    if len(ended) == 1:
        stroke = replace(stroke, blank=_removes_blanks(edit.before, edit.changes[0], removed))
    if stroke.one_key:
        return stroke  # typing and correcting lead back to earlier texts, too
    return replace(stroke, back=any(_same(edit.after.text, text) for text in earlier))


def _ended(changes: Sequence[Change]) -> tuple[int, ...]:
    """The lines on which `changes` end, counted after all of them."""
    ended: list[int] = []
    for change in changes:
        if change.start is None or change.end is None:
            return ()
        last = change.start.line + len(split_lines(change.text)) - 1
        moved = last - change.end.line
        ended = [line + moved if line > change.end.line else line for line in ended]
        ended.append(last)
    return tuple(ended)


def _alike(changes: Sequence[Change]) -> bool:
    return len(changes) > 1 and len({change.text for change in changes}) == 1


def _removes_blanks(before: Document, change: Change, removed: int) -> bool:
    if not 0 < removed <= _SMALL or change.start is None or change.end is None:
        return False
    start, end = before.place(change.start), before.place(change.end)
    lines = list(before.text.lines(start.line, end.line + 1))
    lines[-1] = lines[-1][: end.index]
    lines[0] = lines[0][start.index :]
    return not "".join(lines).strip()


def _same(one: Text, other: Text) -> bool:
    """Whether both are the same text, whose lines may lie in other blocks."""
    return one.size == other.size and (one.blocks == other.blocks or str(one) == str(other))
