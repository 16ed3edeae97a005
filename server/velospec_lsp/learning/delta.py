"""What differs between two snapshots of a document, as the one change that makes the later one.

Snapshots share the blocks of lines that no edit touched, so that only the others are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile

from velospec.core.learning import TextChange
from velospec_lsp.text import Text, to_lf


def change_between(before: Text, after: Text) -> TextChange | None:
    r"""The change from `before` to `after`, offsets and text as if all line ends were \n; None if alike."""
    head = _shared(before.blocks, after.blocks)
    most = min(len(before.blocks), len(after.blocks)) - head
    tail = min(_shared(before.blocks[::-1], after.blocks[::-1]), most)
    old = _lines(before.blocks[head : len(before.blocks) - tail])
    new = _lines(after.blocks[head : len(after.blocks) - tail])
    if old == new:
        return None
    start = _common(old, new)
    end = _common_end(old[start:], new[start:])
    offset = len(_lines(before.blocks[:head]))
    return TextChange(offset + start, offset + len(old) - end, new[start : len(new) - end])


def _shared(one: Sequence[object], other: Sequence[object]) -> int:
    """How many blocks at the beginning are the very same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(one, other, strict=False)))


def _lines(blocks: Sequence[tuple[str, ...]]) -> str:
    return to_lf(chain.from_iterable(blocks))


def _common(one: str, other: str) -> int:
    """How many characters at the beginning agree. Halves the question, since comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: str, other: str) -> int:
    """How many characters at the end agree."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
