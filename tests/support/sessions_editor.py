"""The editor of a replayed session: a text, a cursor in it, an undo list, and brackets that close themselves.

Shares no code with the server. Each edit returns the changes that an editor sends for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

Change = tuple[int, int, int, int, str]
"""Line, character, line, character (UTF-16 units), text: as tests.support.wire has it."""

PAIRS = {"(": ")", "[": "]", "{": "}"}
_PARTS = {"all": r"(?s:.*)", "line": r"\n*[^\n]*", "word": r"\s*(?:\w+|[^\w\s]+)?"}


@dataclass
class Buffer:
    """One document. `cursor` counts characters of `text`, whose lines end with LF."""

    uri: str
    language: str
    text: str
    cursor: int
    crlf: bool = False
    version: int = 1
    before: list[tuple[str, int]] = field(default_factory=list)  # for undo

    @property
    def wire_text(self) -> str:
        return self._ended(self.text)

    def position(self, offset: int | None = None) -> tuple[int, int]:
        """Line and UTF-16 column of `offset`, by default of the cursor."""
        head = self.text[: self.cursor if offset is None else offset]
        line = head.rpartition("\n")[2]
        return head.count("\n"), len(line.encode("utf-16-le", "surrogatepass")) // 2

    def offset(self, line: int, character: int) -> int:
        """The offset of a place whose `character` counts characters."""
        lines = self.text.split("\n")
        return sum(len(each) + 1 for each in lines[:line]) + character

    def key(self, char: str, *, pairs: bool = False) -> list[Change]:
        """One key, in an editor that closes brackets or not."""
        if pairs and char in PAIRS:
            return self.replace(self.cursor, self.cursor, char + PAIRS[char], self.cursor + 1)
        over = pairs and char in PAIRS.values() and self.text[self.cursor : self.cursor + 1] == char
        return self.replace(self.cursor, self.cursor + over, char)

    def delete(self) -> list[Change]:
        return self.replace(self.cursor - 1, self.cursor, "")

    def replace(self, start: int, end: int, text: str, cursor: int | None = None) -> list[Change]:
        """The cursor is behind `text` then, unless it says otherwise."""
        self.before.append((self.text, self.cursor))
        change = (*self.position(start), *self.position(end), self._ended(text))
        self.text = self.text[:start] + text + self.text[end:]
        self.cursor = start + len(text) if cursor is None else cursor
        return [change]

    def change(self, places: list[tuple[int, int, int, int, str]]) -> list[Change]:
        """Several places at once, given from the top; the cursor stays behind the first of them.

        Editors send them from the bottom.
        """
        self.before.append((self.text, self.cursor))
        changes = []
        for line, character, end_line, end_character, text in reversed(places):
            start, end = self.offset(line, character), self.offset(end_line, end_character)
            changes.append((*self.position(start), *self.position(end), self._ended(text)))
            self.text = self.text[:start] + text + self.text[end:]
            self.cursor = start + len(text)
        return changes

    def undo(self) -> list[Change]:
        """Back before the last edit, as the smallest change that does it."""
        text, cursor = self.before.pop()
        start = common_start(text, self.text)
        same = common_start(text[start:][::-1], self.text[start:][::-1])
        changes = self.replace(start, len(self.text) - same, text[start : len(text) - same], cursor)
        self.before.pop()
        return changes

    def _ended(self, text: str) -> str:
        return text.replace("\n", "\r\n") if self.crlf else text


@dataclass(frozen=True)
class Shown:
    """What an editor shows of an item: `rest` at the cursor. `text` is for what lies between the offsets."""

    identity: str
    rest: str
    text: str
    start: int
    end: int

    def part(self, which: str) -> str:
        """What one key accepts of it: "all", the next "word" or the rest of the "line"."""
        found = re.match(_PARTS[which], self.rest)
        assert found
        return found[0]


def shown(item: dict[str, Any], buffer: Buffer) -> Shown:
    """`item` as VS Code and Neovim show it at the cursor; fails where one of them would not show it."""
    text, start, end = item["insertText"], item["range"]["start"], item["range"]["end"]
    line, cursor = buffer.position()
    assert start["line"] == end["line"] == line, item
    assert start["character"] <= cursor <= end["character"], item
    assert "\r" not in text, item
    whole = buffer.text.split("\n")[line].encode("utf-16-le", "surrogatepass")
    assert 2 * end["character"] <= len(whole), item
    # Half a character would not decode.
    typed = whole[2 * start["character"] : 2 * cursor].decode("utf-16-le")
    over = whole[2 * cursor : 2 * end["character"]].decode("utf-16-le")
    assert text.startswith(typed), (item, typed)
    rest = text[len(typed) :]
    assert rest, item
    following = iter(rest)
    assert all(char in following for char in over), (item, over)  # as VS Code asks for
    (identity,) = item["command"]["arguments"]
    return Shown(identity, rest, text, buffer.cursor - len(typed), buffer.cursor + len(over))


def common_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
