"""Packing masks: the bit of each id, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from velospec_kernels import bitmask


def test_bits_are_where_the_layout_says() -> None:
    assert bitmask.pack([0, 31, 32, 65], 66).tolist() == [1 - 2**31, 1, 2]
    assert bitmask.pack(np.array([5, 5]), 6).tolist() == [32]
    assert bitmask.pack([], 33).tolist() == [0, 0]
    assert bitmask.pack([], 33).dtype == np.int32


def test_bytes_keep_the_order_of_ids() -> None:
    words = bitmask.pack([0, 9, 40], 64)
    assert np.flatnonzero(np.unpackbits(bitmask.bytes_of(words), bitorder="little")).tolist() == [0, 9, 40]
    spread = np.stack([words, words], axis=1)[:, 0]
    assert not spread.flags.contiguous
    assert bitmask.bytes_of(spread).tolist() == bitmask.bytes_of(words).tolist()


@pytest.mark.parametrize("ids", [[-1], [3, 66]])
def test_ids_out_of_range_are_refused(ids: list[int]) -> None:
    with pytest.raises(IndexError, match=r"ids must be within 0 and 65, got"):
        bitmask.pack(ids, 66)


@pytest.mark.parametrize(("vocabulary", "words"), [(1, 1), (32, 1), (33, 2), (151_936, 4748)])
def test_words_for(vocabulary: int, words: int) -> None:
    assert bitmask.words_for(vocabulary) == words
