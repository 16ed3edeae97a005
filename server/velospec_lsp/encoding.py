"""Columns: between what an editor counts (UTF-8, 16 or 32 units) and Python's string indices.

Knows one line at a time, free of lone surrogates (see `whole_characters`). A column past the end of the
line's content, or inside a character, is moved back to the nearest place that exists, as the protocol asks.
"""

from __future__ import annotations

import re
from enum import StrEnum

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class PositionEncoding(StrEnum):
    """What the client counts columns in; the values are those of the protocol."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


def content_length(line: str) -> int:
    """Characters of `line` before its line end."""
    if line.endswith("\r\n"):
        return len(line) - 2
    return len(line) - 1 if line.endswith(("\n", "\r")) else len(line)


def to_index(line: str, column: int, encoding: PositionEncoding) -> int:
    """String index in `line` of the place that the client calls `column`, 0 to the content's length."""
    length = content_length(line)
    if column <= 0:
        return 0
    if line.isascii() or encoding is PositionEncoding.UTF32:
        return min(column, length)
    # A column counts at least one unit per character, so nothing after `column` characters matters.
    head = line[: min(length, column)]
    if encoding is PositionEncoding.UTF16:
        return _utf16_index(head, column)
    return _utf8_index(head, column)


def to_column(line: str, index: int, encoding: PositionEncoding) -> int:
    """What the client calls the place before `line[index]`."""
    head = line[:index]
    if head.isascii() or encoding is PositionEncoding.UTF32:
        return len(head)
    if encoding is PositionEncoding.UTF16:
        return len(head.encode("utf-16-le")) // 2
    return len(head.encode("utf-8"))


def _utf16_index(head: str, column: int) -> int:
    units = head.encode("utf-16-le")[: 2 * column]
    if len(units) >= 2 and 0xD8 <= units[-1] <= 0xDB:
        units = units[:-2]  # the column is inside a surrogate pair
    return len(units.decode("utf-16-le"))


def _utf8_index(head: str, column: int) -> int:
    octets = head.encode("utf-8")
    end = min(column, len(octets))
    while end < len(octets) and octets[end] & 0xC0 == 0x80:
        end -= 1
    return len(octets[:end].decode("utf-8"))


def whole_characters(text: str) -> str:
    """`text` with each half of a surrogate pair that stands alone made U+FFFD.

    JSON can carry such halves, UTF-8 cannot; the width is the same in every encoding.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text
