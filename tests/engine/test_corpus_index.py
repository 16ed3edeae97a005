"""The corpus index against a plain search: longest match, counts, the vote, and where drafts end."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.learning.index import DEPTH, CorpusIndex

small = st.lists(st.integers(0, 2), max_size=25)


@settings(max_examples=500, deadline=None)
@given(texts=st.lists(small, max_size=4), tail=small)
def test_the_match_is_that_of_a_plain_search(texts: list[list[int]], tail: list[int]) -> None:
    found = CorpusIndex(texts).match(tail, 1)
    for length in range(len(tail), 0, -1):
        followers = [
            text[end] if end < len(text) else None
            for text in texts
            for end in range(length, len(text) + 1)
            if text[end - length : end] == tail[-length:]
        ]
        if any(follower is not None for follower in followers):
            break
    else:
        assert found is None
        return
    assert found is not None
    match, ids = found
    known = Counter(follower for follower in followers if follower is not None)
    assert match.length == length
    assert match.seen == known.total()
    assert match.agreed == known[ids[0]] == max(known.values())


def test_a_draft_goes_on_while_the_places_agree() -> None:
    index = CorpusIndex([[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 4, 7], [1, 9, 9]])
    found = index.match([1], 8)
    assert found is not None
    match, ids = found
    assert (match.seen, match.agreed) == (4, 3)
    assert ids == (2, 3, 4)


def test_a_single_place_is_followed_to_the_end_of_its_text() -> None:
    index = CorpusIndex([[1, 2, 3, 4], [5, 6, 7, 8]])
    for tail, limit, ids in (([1, 2], 8, (3, 4)), ([5], 2, (6, 7))):
        found = index.match(tail, limit)
        assert found is not None
        assert found[1] == ids


def test_texts_do_not_run_into_each_other() -> None:
    index = CorpusIndex([[1, 2], [3, 4]])
    assert index.match([2], 4) is None
    found = index.match([2, 3], 4)
    assert found is not None
    assert (found[0].length, found[1]) == (1, (4,))


def test_contexts_are_told_apart_up_to_the_depth() -> None:
    run = list(range(10, 10 + DEPTH))
    index = CorpusIndex([[1, *run, 100], [2, *run, 200]])
    found = index.match([1, *run], 1)
    assert found is not None
    assert (found[0].length, found[0].seen) == (DEPTH, 2)
    found = index.match([1, *run[:-1]], 1)
    assert found is not None
    assert (found[0].length, found[0].seen) == (DEPTH, 1)


def test_the_limit_holds() -> None:
    index = CorpusIndex([range(1, 80), range(100, 180)], limit=60)
    assert len(index) <= 60
    assert index.match([1], 4) is not None
    assert index.match([100], 4) is None
    assert CorpusIndex([]).match([1], 4) is None
