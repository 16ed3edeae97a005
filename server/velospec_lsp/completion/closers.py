"""What an editor does by itself to the text behind the cursor while the user types.

It puts closers there, and lets them be typed over. Text that differs by nothing else is still the same.
"""

from __future__ import annotations

_PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`"}
_QUOTES = frozenset("\"'`")
CLOSERS = frozenset(_PAIRS.values())
"""What an editor may put behind the cursor by itself."""

_ENOUGH = 200  # characters that tell one text from another where a window has cut both off


def follows(then: str, now: str, typed: str) -> bool:
    """Whether what stood behind the cursor as `then` may be `now` once `typed` was typed before it.

    That is: the same; without the closers that `typed` went over; with closers of what it opened in front.
    Both are windows of the same length at most, which may have been cut off at their ends.
    """
    if now == then:
        return True
    opened, over = _balance(typed, then)
    behind = then[over:]
    wanted = opened[::-1]
    for at in range(len(now) + 1):
        # Blanks alone put nothing there: what an editor adds ends with a closer.
        if (at == 0 or now[at - 1] in CLOSERS) and _same(now[at:], behind, cut=len(now) == len(then)):
            return True
        if at == len(now) or not wanted:
            return False
        if now[at] in wanted:
            wanted = wanted[wanted.index(now[at]) + 1 :]
        elif not now[at].isspace():
            return False
    return False


def _balance(typed: str, then: str) -> tuple[str, int]:
    """The closers of what `typed` leaves open, and how many closers at the start of `then` it goes over."""
    opened: list[str] = []
    over = 0
    for char in typed:
        if opened and char == opened[-1]:
            opened.pop()
        elif not opened and char in CLOSERS and then[over : over + 1] == char:
            over += 1
        elif char in _PAIRS and not (opened and opened[-1] in _QUOTES):
            opened.append(_PAIRS[char])
    return "".join(opened), over


def _same(one: str, other: str, *, cut: bool) -> bool:
    if len(one) == len(other):
        return one == other
    short = min(len(one), len(other))
    return cut and short >= _ENOUGH and one[:short] == other[:short]
