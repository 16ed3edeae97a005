"""Finds where one JSON value ends, read piece by piece. Does not check it: a grammar or a parser does."""

from __future__ import annotations


class JsonEnd:
    """Follows strings and brackets of an object or array; for those alone the end shows by itself."""

    def __init__(self) -> None:
        self.ended = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> int:
        """How many characters of `text` belong to the value."""
        if self.ended:
            return 0
        for place, letter in enumerate(text):
            if self._in_string:
                self._follow_string(letter)
            elif letter == '"':
                self._in_string = True
            elif letter in "{[":
                self._depth += 1
            elif letter in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self.ended = True
                    return place + 1
        return len(text)

    def _follow_string(self, letter: str) -> None:
        if self._escaped:
            self._escaped = False
        elif letter == "\\":
            self._escaped = True
        elif letter == '"':
            self._in_string = False
