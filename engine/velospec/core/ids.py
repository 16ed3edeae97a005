"""What is asked of sequences of token ids everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def common_length(mine: Sequence[int], theirs: Sequence[int]) -> int:
    """How many ids the two have in common from the start."""
    shorter = min(len(mine), len(theirs))
    pairs = enumerate(zip(mine, theirs, strict=False))
    return next((place for place, (one, other) in pairs if one != other), shorter)
