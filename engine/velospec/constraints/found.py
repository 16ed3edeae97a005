"""What was found out about the places behind the decided ids, so that a grammar engine is not asked twice.

Drafts of a step have much in common, and what one step looked ahead to is where the next one stands. Knows
ids and their bytes, and no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Path = tuple[int, ...]
"""Ids behind the decided ones."""


class Found:
    """Of one answer; moves on with it."""

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        self._piece = piece
        self._allowed: list[Path] = []  # the newest last
        self._forced: dict[Path, bytes] = {}
        self._last: Path = ()  # the newest place with forced text

    def allowed(self, ids: Path) -> bool:
        """Whether all of `ids` are known to be allowed."""
        count = len(ids)
        for path in self._allowed:
            if path[:count] == ids:
                return True
        return not count

    def note_allowed(self, ids: Path) -> None:
        """All of `ids` are allowed."""
        if not self.allowed(ids):
            self._allowed.append(ids)

    def judged(self, ids: Path) -> tuple[int, bool]:
        """How many of `ids` are allowed as far as forced text tells, and whether it decides of them all.

        All ways to cut forced text into tokens are allowed, and nothing else.
        """
        text, place = self._forced.get((), b""), 0
        for count, token in enumerate(ids):
            piece = self._piece(token)
            end = place + len(piece)
            if not piece or (end > len(text) and piece.startswith(text[place:])):
                return count, False
            if not text.startswith(piece, place):
                return count, True
            place = end
        return len(ids), True

    def forced(self, ahead: Path) -> bytes | None:
        """The text that is forced behind `ahead`, all of it; None where that is not known."""
        known = self._forced.get(ahead)
        if known is None and len(ahead) > (start := len(self._last)) and ahead[:start] == self._last:
            text = self._forced.get(self._last, b"")
            spelled = b"".join([self._piece(token) for token in ahead[start:]])
            # Behind all of a forced text there is a choice, or it would be longer.
            known = text[len(spelled) :] if spelled and text.startswith(spelled) else None
        return known

    def note_forced(self, ahead: Path, text: bytes) -> None:
        """`text` is all that is forced behind `ahead`."""
        self._forced[ahead] = text
        self._last = ahead

    def advance(self, ids: Sequence[int]) -> None:
        """`ids` were decided."""
        decided, count = tuple(ids), len(ids)
        self._allowed = [
            path[count:] for path in self._allowed if len(path) > count and path[:count] == decided
        ]
        self._forced = {path[count:]: text for path, text in self._forced.items() if path[:count] == decided}
        self._last = ()
