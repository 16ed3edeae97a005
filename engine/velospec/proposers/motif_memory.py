"""Which abstract lexeme followed which abstract window of lexemes, counted.

A window's names are numbered in order of appearance, the latest first, so that `current = current.next` and
`node = node.left` are the same window; everything else in it stays as it is. Several lengths of window are
kept; the longest that was seen before counts. Knows no tokens and no bytes of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Counts of followers. At most `capacity` windows, the oldest forgotten first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[int, dict[Follower, int]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def note(self, seen: Views, element: Element) -> None:
        """Take note that `element` followed."""
        whole = element.abstract(seen.slots)
        for key, names in seen.windows:
            follower = whole if whole.slot < names else Follower(whole.lead, FRESH, element.text)
            counts = self._counts.get(key)
            if counts is None:
                if len(self._counts) >= self._capacity:
                    del self._counts[next(iter(self._counts))]
                counts = self._counts[key] = {}
            counts[follower] = counts.get(follower, 0) + 1

    def take_back(self, seen: Views, element: Element) -> None:
        """Undo a `note`."""
        whole = element.abstract(seen.slots)
        for key, names in seen.windows:
            follower = whole if whole.slot < names else Follower(whole.lead, FRESH, element.text)
            counts = self._counts.get(key, {})
            left = counts.get(follower, 0) - 1
            if left > 0:
                counts[follower] = left
            elif left == 0:
                del counts[follower]
                if not counts:
                    del self._counts[key]

    def find(self, seen: Views) -> Found | None:
        """What followed the longest window that is known."""
        for length in range(len(seen.windows) - 1, -1, -1):
            counts = self._counts.get(seen.windows[length].key)
            if counts:
                # Of equals the latest: dicts keep their order, and what is near is more alike.
                follower = max(reversed(counts), key=counts.__getitem__)
                return Found(follower, counts[follower], sum(counts.values()), length)
        return None

    def clear(self) -> None:
        self._counts.clear()
