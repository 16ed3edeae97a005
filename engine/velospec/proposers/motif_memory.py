"""Which abstract lexeme followed which abstract window of lexemes, counted.

A name in a window stands for no more than where it occurs again, so that `current = current.next` and
`node = node.left` are the same window; everything else in it stays as it is. Several lengths of window are
kept; the longest that was seen before counts. Knows no tokens and no bytes of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WINDOWS = (3, 4, 5, 6, 7, 9, 12, 20)
"""The lengths of windows, in lexemes."""
LONGEST = WINDOWS[-1]


class Element(NamedTuple):
    """A lexeme as motifs see it: `lead` is the whitespace before it, relative to the line before."""

    lead: bytes
    text: bytes
    named: bool  # a name, which another may stand for


class Follower(NamedTuple):
    """What follows a window: the name that stands `back` elements before it, or `text`.

    The latter is a name too where `back` is FRESH.
    """

    lead: bytes
    back: int
    text: bytes


LITERAL, FRESH = 0, -1


class Tail:
    """The last elements of a text and the windows that they make. Grows by an element in a microsecond.

    An element's code is the hash of its text, or, of a name, of how many elements further on it stands again
    (0 where it does not). Such codes do not depend on where a window begins, so that the key of a window is
    the hash of the last codes.
    """

    __slots__ = ("_codes", "_keys", "_leads", "_names", "_texts")

    def __init__(self, elements: Sequence[Element] = ()) -> None:
        # All the latest first.
        self._codes: list[int] = []
        self._leads: list[bytes] = []
        self._texts: list[bytes] = []
        self._names: list[bytes] = []  # empty for what is no name
        self._keys: list[int] | None = None
        for element in elements[-LONGEST:]:
            self.append(element)

    def append(self, element: Element) -> None:
        lead, text, named = element
        self._keys = None
        if named and (back := self.back(text)):
            self._codes[back - 1] = hash((self._leads[back - 1], back))
        self._codes.insert(0, hash((lead, 0 if named else text)))
        self._leads.insert(0, lead)
        self._texts.insert(0, text)
        self._names.insert(0, text if named else b"")
        if len(self._codes) > LONGEST:
            self._codes.pop()
            self._leads.pop()
            self._texts.pop()
            self._names.pop()

    def copy(self) -> Tail:
        twin = Tail()
        twin._codes, twin._leads = self._codes.copy(), self._leads.copy()
        twin._texts, twin._names, twin._keys = self._texts.copy(), self._names.copy(), self._keys
        return twin

    @property
    def keys(self) -> list[int]:
        """The keys of the windows that end here, shortest first: as many as there are elements for."""
        keys = self._keys
        if keys is None:
            codes, size = self._codes, len(self._codes)
            keys = self._keys = [hash(tuple(codes[:length])) for length in WINDOWS if length <= size]
        return keys

    def back(self, name: bytes) -> int:
        """How many elements back `name` last stood, 1 for the last element; 0 if it did not."""
        return self._names.index(name) + 1 if name in self._names else 0

    def text(self, back: int) -> bytes:
        """The text of the element so many back, 1 for the last; empty where there are fewer."""
        return self._texts[back - 1] if back <= len(self._texts) else b""

    @property
    def named(self) -> bool:
        """Whether the last element is a name."""
        return bool(self._names and self._names[0])

    @property
    def words(self) -> int:
        """Stands for the texts of the last three elements as they are."""
        return hash(tuple(self._texts[:3]))


class Found(NamedTuple):
    """The most frequent follower of a window: how often it followed, and how often anything did."""

    follower: Follower
    times: int
    total: int
    length: int  # of the window, its place in WINDOWS


class MotifMemory:
    """Counts of followers. At most `capacity`; when there are that many, the oldest quarter is forgotten.

    Each costs about 120 bytes: most windows have one follower, which was seen once.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._counts: dict[int, Follower | dict[Follower, int]] = {}  # a follower alone was seen once
        self._followers: dict[Follower, Follower] = {}  # each kept once

    def __len__(self) -> int:
        """How many followers are counted, of all windows."""
        return self._size

    def note(self, tail: Tail, element: Element) -> None:
        """Take note that `element` followed."""
        if self._size + len(WINDOWS) > self._capacity:
            self._shrink()
        counts = self._counts
        for key, follower in _each(tail, element):
            known = counts.get(key)
            if known is None:
                counts[key] = self._followers.setdefault(follower, follower)
                self._size += 1
            elif isinstance(known, dict):
                self._size += follower not in known
                known[follower] = known.get(follower, 0) + 1
            elif known == follower:
                counts[key] = {known: 2}
            else:
                counts[key] = {known: 1, follower: 1}
                self._size += 1

    def take_back(self, tail: Tail, element: Element) -> None:
        """Undo a `note`."""
        for key, follower in _each(tail, element):
            known = self._counts.get(key)
            if isinstance(known, dict) and follower in known:
                known[follower] -= 1
                if not known[follower]:
                    del known[follower]
                    self._size -= 1
                if list(known.values()) == [1]:
                    self._counts[key] = next(iter(known))
            elif known == follower:
                del self._counts[key]
                self._size -= 1

    def find(self, tail: Tail, least: int = 0) -> Found | None:
        """What followed the longest window that is known, if its place in WINDOWS is `least` or more.

        Where a window was seen, so were the shorter ones: the search ends at the first that is not known.
        """
        counts, best, length = self._counts, None, 0
        for place, key in enumerate(tail.keys[least:], start=least):
            known = counts.get(key)
            if known is None:
                break
            best, length = known, place
        if best is None:
            return None
        if not isinstance(best, dict):
            return Found(best, 1, 1, length)
        # Of equals the later: what is near is more alike.
        follower = max(reversed(best), key=best.__getitem__)
        return Found(follower, best[follower], sum(best.values()), length)

    def clear(self) -> None:
        self._counts.clear()
        self._followers.clear()
        self._size = 0

    def _shrink(self) -> None:
        goal = self._capacity - self._capacity // 4
        forgotten = []
        for key, known in self._counts.items():
            if self._size <= goal:
                break
            self._size -= len(known) if isinstance(known, dict) else 1
            forgotten.append(key)
        for key in forgotten:
            del self._counts[key]
        self._followers.clear()


def _each(tail: Tail, element: Element) -> list[tuple[int, Follower]]:
    """Each window's key, and `element` as it stands in that window."""
    lead, text, named = element
    apart = Follower(lead, FRESH if named else LITERAL, text)
    back = tail.back(text) if named else 0
    if not back:
        return [(key, apart) for key in tail.keys]
    again = Follower(lead, back, b"")
    return [
        (key, again if back <= length else apart) for key, length in zip(tail.keys, WINDOWS, strict=False)
    ]
