r"""A document's text as the edits see it: one string with \n line ends, and changes of its characters.

Line ends and column encodings of the document itself come back only where changes become places in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from velospec_lsp.documents import Document
from velospec_lsp.text import Place, to_lf

_TAB_LINE = re.compile(r"^\t", re.MULTILINE)
_SPACE_LINE = re.compile(r"^( +)\S", re.MULTILINE)
_DEFAULT_UNIT = 4


@dataclass(frozen=True, slots=True)
class Change:
    """`text` in place of the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Source:
    """The text of one snapshot."""

    document: Document
    text: str

    @classmethod
    def of(cls, document: Document) -> Source:
        return cls(document, to_lf([str(document.text)]))

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def offset(self, place: Place) -> int:
        """How many characters lie before `place`."""
        return self._starts[place.line] + place.index

    def place(self, offset: int) -> Place:
        """The place before which `offset` characters lie."""
        line = bisect_right(self._starts, offset) - 1
        return Place(line, offset - self._starts[line])

    def line_start(self, offset: int) -> int:
        """Where the line that holds `offset` begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Where the content of the line that holds `offset` ends."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def indentation(self, offset: int) -> str:
        """The white space at the beginning of the line that holds `offset`."""
        line = self.text[self.line_start(offset) : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    @cached_property
    def indent_unit(self) -> str:
        """What one level of indentation is in this text: a tab, or the smallest step of spaces."""
        spaces = [len(match[1]) for match in _SPACE_LINE.finditer(self.text)]
        if len(_TAB_LINE.findall(self.text)) > len(spaces):
            return "\t"
        steps = [width for width in spaces if width in {2, 4, 8}]
        return " " * (min(steps) if steps else _DEFAULT_UNIT)

    @property
    def line_end_of_document(self) -> str:
        """The line end of the document's first line."""
        first = self.document.text.line(0)
        return first[len(first.rstrip("\r\n")) :] or "\n"


def apply_changes(text: str, changes: Sequence[Change]) -> str:
    """`text` with all `changes` made, which do not overlap."""
    parts, at = [], 0
    for change in sorted(changes, key=lambda change: change.start):
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])
