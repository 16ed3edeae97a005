"""What proposers look for in a prompt's ids: the text directly before the cursor.

Control tokens part a prompt into texts. Where it ends in one, it is an infill prompt that gives the prefix
first (prefix, suffix, middle), and the prefix is the last text but one; else the last text counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise


def before_cursor(ids: Sequence[int], control_ids: Collection[int]) -> Sequence[int]:
    """The ids of the text before the cursor, without control tokens."""
    return split_at_cursor(ids, control_ids)[1]


def split_at_cursor(
    ids: Sequence[int], control_ids: Collection[int]
) -> tuple[list[Sequence[int]], Sequence[int]]:
    """The other texts, and the text before the cursor, all without control tokens."""
    bounds = [-1, *(place for place, token in enumerate(ids) if token in control_ids), len(ids)]
    back = 2 if len(bounds) > 3 and bounds[-2] == len(ids) - 1 else 0
    parts = [ids[start + 1 : end] for start, end in pairwise(bounds)]
    before = parts.pop(len(parts) - 1 - back)
    return [part for part in parts if part], before
