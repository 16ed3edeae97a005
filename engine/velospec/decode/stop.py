"""Stop rules: where a completion ends, judged per token, inside an accepted draft too.

`StopRules` is fed the bytes of each decided token and says whether the completion is over, how many bytes
of it are kept (`end`), and how many can no longer be taken back (`settled`) and may be shown. It knows bytes,
not ids; the end token and cancellation are the caller's.
"""

from __future__ import annotations

import re

from velospec.core.request import FinishReason, Limits

_TAB = 4  # columns of a tab when indentations are compared; mixed files only

# A line that begins so belongs to the block before it, at the same indentation.
_CLOSES_BLOCK = re.compile(
    rb"[)\]}]|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|then|fi|done|esac|case|default)(?=\W)"
)
_UNFINISHED_WORD = re.compile(rb"\w+\Z")
_FIRST_TEXT = re.compile(rb"\n([ \t]*)(?=[^ \t\n])")


class StopRules:
    """The rules of one request over the bytes that come after the cursor."""

    def __init__(self, limits: Limits, cursor_line: str = "") -> None:
        """`cursor_line` is the text from the start of the cursor's line to the cursor."""
        self._bytes = bytearray()
        self._stops = tuple(stop.encode() for stop in limits.stop if stop)
        self._longest = max(map(len, self._stops), default=0)
        self._lines_left = limits.max_lines
        self._scope = IndentScope(cursor_line) if limits.indent_scope else None
        self._may_pause = limits.lines_ms is not None
        self._pausing = False
        self.end = 0
        self.settled = 0

    def feed(self, piece: bytes) -> FinishReason | None:
        """Take the bytes of the next token; the reason if the completion ends within them.

        After a reason `end` is where the text ends; the earliest end wins where several rules apply.
        """
        start = len(self._bytes)
        self._bytes += piece
        endings = [(end, reason) for end, reason in self._endings(start) if end is not None]
        if endings:
            self.end, reason = min(endings, key=lambda ending: ending[0])
            self.settled = self.end
            return reason
        self.end = len(self._bytes)
        self.settled = self._settle()
        return None

    def pause(self) -> FinishReason | None:
        """End with the last line that is whole; where none is yet, with the one that is being written."""
        self._pausing = True
        end = self._last_line_end()
        if end is None:
            return None
        self.end = self.settled = end
        return FinishReason.PAUSE

    def bytes(self, start: int, end: int) -> bytes:
        return bytes(self._bytes[start:end])

    def _endings(self, start: int) -> list[tuple[int | None, FinishReason]]:
        scope = self._scope.feed(self._bytes, start) if self._scope else None
        return [
            (self._find_stop(start), FinishReason.STOP),
            (self._find_line_limit(start), FinishReason.LINES),
            (scope, FinishReason.SCOPE),
            (self._find_pause(start), FinishReason.PAUSE),
        ]

    def _find_stop(self, start: int) -> int | None:
        begin = max(0, start - self._longest + 1)
        found = [at for stop in self._stops if (at := self._bytes.find(stop, begin)) >= 0]
        return min(found, default=None)

    def _find_line_limit(self, start: int) -> int | None:
        """Where the newline is that would begin one line too many."""
        if self._lines_left is None:
            return None
        at = self._bytes.find(b"\n", start)
        while at >= 0:
            self._lines_left -= 1
            if self._lines_left <= 0:
                return at
            at = self._bytes.find(b"\n", at + 1)
        return None

    def _find_pause(self, start: int) -> int | None:
        """Where the line ends that the text is to end with."""
        if not self._pausing:
            return None
        at = self._bytes.find(b"\n", start)
        while at >= 0 and not self._bytes[:at].strip():
            at = self._bytes.find(b"\n", at + 1)
        return at if at >= 0 else None

    def _settle(self) -> int:
        """How many bytes no later token can take back."""
        size = len(self._bytes)
        settled = size
        for stop in self._stops:
            for length in range(min(len(stop) - 1, size), 0, -1):
                if self._bytes.endswith(stop[:length]):
                    settled = min(settled, size - length)
                    break
        if self._scope is not None:
            settled = min(settled, self._scope.settled(size))
        line_end = self._last_line_end() if self._may_pause and not self._pausing else None
        return settled if line_end is None else min(settled, line_end)

    def _last_line_end(self) -> int | None:
        """Where the last whole line ends; None if there is none with text."""
        end = self._bytes.rfind(b"\n")
        return end if self._bytes[: max(end, 0)].strip() else None


class IndentScope:
    """Ends a completion with the block that the cursor is in, by indentation alone.

    A line indented less than the cursor's line ends it. Where the cursor's line has text and opens a block
    (the next line is deeper), the first line back at its indentation ends it too, unless that line closes
    or continues the block (`}`, `else:` and their kin). The text then ends before the newline, and blank
    lines before it, that led to the ending line.
    """

    def __init__(self, cursor_line: str) -> None:
        line = cursor_line.encode()
        self._base = _width(line[: len(line) - len(line.lstrip(b" \t"))])
        self._opener = bool(line.strip())
        self._opened = False
        self._undecided: int | None = None  # offset of the first newline since the last line with text

    def feed(self, text: bytearray, start: int) -> int | None:
        """Where the text ends, if a line that `text[start:]` begins or reveals leaves the scope."""
        at = start
        while self._undecided is not None or (at := text.find(b"\n", at)) >= 0:
            if self._undecided is None:
                self._undecided = at
            line = _FIRST_TEXT.search(text, self._undecided)
            if line is None:
                return None
            verdict = self._leaves(line[1], text, line.end())
            if verdict is None:
                return None
            if verdict:
                return self._undecided
            self._undecided, at = None, line.end()
        return None

    def settled(self, size: int) -> int:
        return size if self._undecided is None else self._undecided

    def _leaves(self, indent: bytes, text: bytearray, begin: int) -> bool | None:
        """Whether the line with its first visible byte at `begin` leaves; None until its word is whole."""
        width = _width(indent)
        if width != self._base or not self._opened:
            self._opened = self._opened or (self._opener and width > self._base)
            return width < self._base
        if _CLOSES_BLOCK.match(text, begin):
            return False
        return None if _UNFINISHED_WORD.match(text, begin) else True


def _width(indent: bytes) -> int:
    return len(indent.expandtabs(_TAB))
