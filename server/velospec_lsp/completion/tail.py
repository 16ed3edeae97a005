"""The text right of the cursor: closers that an editor put there by itself, or real text.

An editor that closes brackets leaves `)` behind the cursor of `print(`. A completion that closes the bracket
itself must replace that one, and one that does not must leave it.
"""

from __future__ import annotations

import re

_INERT = re.compile(r"[\s)\]}>\"'`]*[;:,{]?\s*")
_OPENERS = {"(": ")", "[": "]", "{": "}"}
_QUOTES = frozenset("\"'`")


def is_inert(tail: str) -> bool:
    """Whether `tail` is closers, quotes and spaces only, then at most one of `;:,{`."""
    return _INERT.fullmatch(tail) is not None


def closing(text: str, tail: str) -> list[int]:
    """Where in `text` the closers at the start of `tail` are written once more, in order.

    A closer counts where `text` itself did not open it: `x)` closes the tail `)`, `f(x)` does not.
    """
    expected = [char for char in tail if not char.isspace()]
    found: list[int] = []
    open_closers: list[str] = []
    for at, char in enumerate(text):
        if len(found) == len(expected):
            break
        wanted = expected[len(found)]
        if open_closers and char == open_closers[-1]:
            open_closers.pop()
        elif not open_closers and char == wanted:
            found.append(at)
        elif wanted not in _QUOTES and not (open_closers and open_closers[-1] in _QUOTES):
            # Neither a string that the tail closes nor one that the text opened: brackets count here.
            opened = char if char in _QUOTES else _OPENERS.get(char)
            open_closers += [opened] if opened else []
    return found


def unopened(tail: str) -> str:
    """The brackets that `tail` closes without having opened them, in order."""
    found: list[str] = []
    open_closers: list[str] = []
    for char in tail:
        if char in _OPENERS:
            open_closers.append(_OPENERS[char])
        elif char in _OPENERS.values():
            if open_closers and open_closers[-1] == char:
                open_closers.pop()
            else:
                found.append(char)
    return "".join(found)


def covers(text: str, tail: str) -> bool:
    """Whether `text` writes the whole inert `tail` itself, so that it may replace it."""
    if not tail.strip() or not is_inert(tail):
        return False
    wanted = len("".join(tail.split()))
    return len(closing(text, tail)) == wanted and _is_subsequence(tail, text)


def _is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(char in rest for char in part)
