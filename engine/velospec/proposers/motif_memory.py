"""Which abstract lexeme followed which abstract window of lexemes, counted.

A window's names are numbered in order of appearance, the latest first, so that `current = current.next` and
`node = node.left` are the same window; everything else in it stays as it is. Several lengths of window are
kept; the longest that was seen before counts. Knows no tokens and no bytes of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

WINDOWS = (3, 4, 5, 6, 7, 9, 12, 20)
"""The lengths of windows, in lexemes."""


class Element(NamedTuple):
    """A lexeme as motifs see it: `lead` is the whitespace before it, relative to the line before."""

    lead: bytes
    text: bytes
    named: bool  # a name, which another may stand for

    def abstract(self, slots: dict[bytes, int]) -> Follower:
        """This element in a window whose names have `slots`."""
        slot = slots.get(self.text, FRESH) if self.named else LITERAL
        return Follower(self.lead, slot, b"" if slot >= 0 else self.text)


class Follower(NamedTuple):
    """What follows a window: the name in a slot, or `text`, which is a name too where `slot` is FRESH."""

    lead: bytes
    slot: int
    text: bytes


LITERAL, FRESH = -1, -2


class Window(NamedTuple):
    """A window's key, and how many names it holds: the slots below that number are its own."""

    key: int
    names: int


class Views(NamedTuple):
    """The windows that end at one place, shortest first, and the slots of their names."""

    windows: list[Window]
    slots: dict[bytes, int]


def views(elements: Sequence[Element]) -> Views:
    """The windows at the end of `elements`."""
    slots: dict[bytes, int] = {}
    windows = []
    key, length = 0, 0
    for wanted in WINDOWS:
        if wanted > len(elements):
            break
        while length < wanted:
            length += 1
            lead, text, named = elements[-length]
            key = hash((key, slots.setdefault(text, len(slots)) if named else text, lead))
        windows.append(Window(key, len(slots)))
    return Views(windows, slots)


class Found(NamedTuple):
    """The most frequent follower of a window: how often it followed, and how often anything did."""

    follower: Follower
    times: int
    total: int
    length: int  # of the window, its place in WINDOWS


class MotifMemory:
    """Counts of followers. At most `capacity` windows; when they are full, the oldest quarter is forgotten.

    A window costs about 120 bytes while one follower was seen once, which is so of most.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[int, Follower | dict[Follower, int]] = {}  # a follower alone was seen once
        self._followers: dict[Follower, Follower] = {}  # each kept once

    def __len__(self) -> int:
        return len(self._counts)

    def note(self, seen: Views, element: Element) -> None:
        """Take note that `element` followed."""
        if len(self._counts) + len(WINDOWS) > self._capacity:
            self._shrink()
        for key, follower in self._each(seen, element):
            known = self._counts.get(key)
            if known is None:
                self._counts[key] = self._followers.setdefault(follower, follower)
            elif isinstance(known, dict):
                known[follower] = known.get(follower, 0) + 1
            else:
                self._counts[key] = {known: 2} if known == follower else {known: 1, follower: 1}

    def take_back(self, seen: Views, element: Element) -> None:
        """Undo a `note`."""
        for key, follower in self._each(seen, element):
            known = self._counts.get(key)
            if isinstance(known, dict) and follower in known:
                known[follower] -= 1
                if not known[follower]:
                    del known[follower]
                if list(known.values()) == [1]:
                    self._counts[key] = next(iter(known))
            elif known == follower:
                del self._counts[key]

    def find(self, seen: Views) -> Found | None:
        """What followed the longest window that is known."""
        for length in range(len(seen.windows) - 1, -1, -1):
            known = self._counts.get(seen.windows[length].key)
            if isinstance(known, dict):
                # Of equals the later: what is near is more alike.
                follower = max(reversed(known), key=known.__getitem__)
                return Found(follower, known[follower], sum(known.values()), length)
            if known is not None:
                return Found(known, 1, 1, length)
        return None

    def clear(self) -> None:
        self._counts.clear()
        self._followers.clear()

    @staticmethod
    def _each(seen: Views, element: Element) -> Iterator[tuple[int, Follower]]:
        """Each window's key, and `element` as it stands in that window."""
        whole = element.abstract(seen.slots)
        for key, names in seen.windows:
            yield key, whole if whole.slot < names else Follower(whole.lead, FRESH, element.text)

    def _shrink(self) -> None:
        for key in list(islice(self._counts, self._capacity // 4)):
            del self._counts[key]
        self._followers.clear()
