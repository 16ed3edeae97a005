"""Cuts a document into blocks of whole lines, so that after an edit only the blocks around it are new.

Where a cut falls depends on the lines nearby alone: before a line that begins at the left margin, or one
whose checksum says so, once a block has a certain size. After an edit the cuts fall as they did, a block or
two behind it, and what stands there need not be read again. Equal texts are cut alike, however they came
about.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

LEAST = 240
"""Characters that a block has before it may end."""
MOST = 1600
"""Characters after which it ends with the line."""
_SHARE = 8  # of the other lines, one in so many begins a block


def split(text: str) -> list[str]:
    """The blocks of `text`, which joined give it back."""
    return resplit(text, ())


def resplit(text: str, before: Sequence[str]) -> list[str]:
    """The blocks of `text`, taking over those of `before`, an earlier state's, as far as they are the same.

    The time it takes beyond comparing the two is that of the lines between the blocks taken over.
    """
    start = kept = 0
    while kept < len(before) and text.startswith(before[kept], start):
        start += len(before[kept])
        kept += 1
    if kept == len(before) and start == len(text):
        return list(before)
    # A cut depends on the line behind it, which may be another now.
    if kept:
        kept -= 1
        start -= len(before[kept])
    blocks = list(before[:kept])
    # By how much of the text is left there: the place in `before` where a block began.
    rest: dict[int, int] = {}
    left = 0
    for place in range(len(before) - 1, kept - 1, -1):
        left += len(before[place])
        if not text.endswith(before[place], start, len(text) - left + len(before[place])):
            break
        rest[left] = place
    while start < len(text):
        end = _end(text, start)
        blocks.append(text[start:end])
        start = end
        if len(text) - end in rest:
            return [*blocks, *before[rest[len(text) - end] :]]
    return blocks


def _end(text: str, start: int) -> int:
    """Where the block that begins at `start` ends."""
    line = text.find("\n", start + LEAST) + 1
    while 0 < line < len(text) and line - start < MOST:
        end = text.find("\n", line) + 1 or len(text)
        if _begins(text[line:end]):
            return line
        line = end
    return line or len(text)


def _begins(line: str) -> bool:
    """Whether a block begins with this line, if the one before it is long enough."""
    if line[0].isalnum() or line[0] in "@_#":
        return True
    return zlib.crc32(line.encode("utf-8", "replace")) % _SHARE == 0 and not line.isspace()
