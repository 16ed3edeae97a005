"""What is asked of sequences of token ids everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def common_length(mine: Sequence[int], theirs: Sequence[int]) -> int:
    """How many ids the two have in common from the start."""
    length = 0
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        length += 1
    return length
