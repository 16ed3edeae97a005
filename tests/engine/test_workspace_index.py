"""The index of a changing workspace against a plain search, and the blocks that documents are cut into."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.learning.workspace.blocks import MOST, resplit, split
from velospec.learning.workspace.chains import DEPTH, ChainIndex, Span
from velospec.learning.workspace.hashing import LENGTHS

small = st.lists(st.integers(0, 2), max_size=25)
lines = st.lists(st.sampled_from(["def f():\n", "    x = 1\n", "\n", "  }\n", "y" * 90 + "\n"]), max_size=60)


def plain_search(blocks: list[list[int]], tail: list[int]) -> tuple[int, Counter[int]] | None:
    """The longest match, and what follows at all its places."""
    for length in range(min(len(tail), DEPTH), 0, -1):
        followers = Counter(
            block[end]
            for block in blocks
            for end in range(length, len(block))
            if block[end - length : end] == tail[-length:]
        )
        if followers:
            return length, followers
    return None


def check(index: ChainIndex, blocks: list[list[int]], tail: list[int]) -> None:
    """The match is that of a plain search, where the search found few places enough to ask all."""
    found, expected = index.match(tail, 4), plain_search(blocks, tail)
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    match, ids = found
    length, followers = expected
    at_level = plain_search(blocks, tail[-max(each for each in LENGTHS if each <= length) :])
    assert at_level is not None
    if at_level[1].total() <= 24:
        assert match.length == length
        assert (match.seen, match.agreed) == (followers.total(), followers[ids[0]])
        assert match.agreed == max(followers.values())
    held = [*tail[-match.length :], *ids]
    assert any(held == block[i : i + len(held)] for block in blocks for i in range(len(block)))


@settings(max_examples=300, deadline=None)
@given(blocks=st.lists(small, max_size=6), tail=small, seed=st.integers(0, 99))
def test_the_match_is_that_of_a_plain_search_whatever_came_and_went(
    blocks: list[list[int]], tail: list[int], seed: int
) -> None:
    index, held = ChainIndex(), dict[Span, list[int]]()
    chance = random.Random(seed)  # noqa: S311  (no secrets)
    for block in blocks:
        held[index.add(block, 1)] = block
        if chance.random() < 0.4:
            span = chance.choice(list(held))
            chance.choice([index.remove, index.drop])(span)
            del held[span]
        check(index, list(held.values()), tail)
    assert index.live == sum(map(len, held.values()))


@settings(max_examples=200, deadline=None)
@given(mine=st.lists(small, max_size=4), theirs=st.lists(small, max_size=4), tail=small)
def test_the_owner_that_is_left_out_gives_nothing(
    mine: list[list[int]], theirs: list[list[int]], tail: list[int]
) -> None:
    both, alone = ChainIndex(), ChainIndex()
    for block in theirs:
        both.add(block, 2)
        alone.add(block, 2)
    for block in mine:
        both.add(block, 1)
    found, expected = both.match(tail, 8, leave=1), alone.match(tail, 8)
    assert (found and (found[0].length, found[1])) == (expected and (expected[0].length, expected[1]))


def test_of_equally_frequent_continuations_the_one_put_in_last_counts() -> None:
    index = ChainIndex()
    for follower in (5, 6, 5, 6):
        index.add([1, 2, 3, follower, 9], 1)
    found = index.match([1, 2, 3], 2)
    assert found is not None
    assert (found[0].length, found[0].seen, found[0].agreed, found[0].latest) == (3, 4, 2, True)
    assert found[1] == (6, 9)


def test_a_draft_goes_on_while_the_places_agree_and_not_beyond_its_text() -> None:
    index = ChainIndex.of([[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 4, 7], [1, 9, 9]])
    found = index.match([1], 8)
    assert found is not None
    assert (found[0].seen, found[0].agreed, found[1]) == (4, 3, (2, 3, 4))
    for tail, limit, ids in (([1, 9], 8, (9,)), ([4], 2, (7,)), ([5], 2, None)):
        found = index.match(tail, limit)
        assert (found and found[1]) == ids


def test_contexts_are_told_apart_up_to_the_depth() -> None:
    run = list(range(10, 10 + DEPTH))
    index = ChainIndex.of([[1, *run, 100], [2, *run, 200]])
    for tail, seen in (([1, *run], 2), ([1, *run[:-1]], 1)):
        found = index.match(tail, 1)
        assert found is not None
        assert (found[0].length, found[0].seen) == (DEPTH, seen)


def test_the_limit_of_whole_texts_holds() -> None:
    index = ChainIndex.of([range(1, 80), range(100, 180)], limit=60)
    assert (index.live, index.match([100], 4)) == (60, None)
    assert ChainIndex.of([]).match([1], 4) is None


def test_places_of_what_was_taken_out_are_used_again() -> None:
    index = ChainIndex()
    chance = random.Random(1)  # noqa: S311  (no secrets)
    texts = [[chance.randrange(40) for _ in range(100)] for _ in range(50)]
    spans = [index.add(text, 1) for text in texts]
    index.remove(spans[7])  # it lies too deep to be used again
    assert index.lost == 128
    spans[7] = index.add(texts[7], 1)
    held, start = index.nbytes, spans[7].start
    for typed in range(28):  # somebody types in one block
        index.remove(spans[7])
        spans[7] = index.add([*texts[7][:50], *range(typed), *texts[7][50:]], 1)
        assert spans[7].start == start
    assert (index.live, index.lost, index.nbytes) == (5000 + 27, 128, held)


def test_what_hangs_too_far_down_is_lost_and_nothing_else() -> None:
    index = ChainIndex()
    first = index.add([1, 2, 3, 4], 1)
    for _ in range(30):
        index.add([1, 2, 5, 6], 1)
    index.remove(first)
    assert index.lost == 32
    assert index.match([1, 2], 4) is not None
    assert index.match([3], 4) is None


def test_room_grows_and_nothing_is_lost_by_it() -> None:
    index = ChainIndex(64)
    blocks = [[number, number + 1, number + 2, 7] for number in range(0, 3000, 3)]
    for block in blocks:
        index.add(block, 1)
    for block in blocks:
        found = index.match(block[:3], 1)
        assert found is not None
        assert (found[0].length, found[1]) == (3, (7,))
    assert index.crowded
    assert not ChainIndex.of(blocks).crowded


def test_a_million_ids_take_what_the_documentation_says() -> None:
    assert ChainIndex(1 << 20).nbytes == (1 << 20) * (8 + 4 * len(LENGTHS)) + 4 * len(LENGTHS) * (1 << 20)


@given(lines)
def test_blocks_are_whole_lines_and_give_the_text_back(parts: list[str]) -> None:
    text = "".join(parts)
    blocks = split(text)
    assert "".join(blocks) == text
    assert all(block.endswith("\n") for block in blocks[:-1])
    assert all(len(block) <= MOST + 100 for block in blocks)


@given(lines, lines, st.integers(0, 60), st.integers(0, 60))
def test_an_edit_gives_the_blocks_of_the_whole_text(
    parts: list[str], new: list[str], start: int, length: int
) -> None:
    before = "".join(parts)
    after = "".join([*parts[:start], *new, *parts[start + length :]])
    assert resplit(after, split(before)) == split(after)


@given(st.text(max_size=4000))
def test_any_text_is_cut(text: str) -> None:
    assert "".join(split(text)) == text


def test_an_edit_leaves_all_blocks_but_a_few() -> None:
    lines = (f"    value_{number} = load(path_{number % 7})\n" for number in range(2000))
    text = "".join(f"def f_{place}():\n" if place % 23 == 0 else line for place, line in enumerate(lines))
    before = split(text)
    assert len(before) > 100
    new = [
        len(set(resplit(text[:start] + "x" + text[start:], before)) - set(before))
        for start in range(0, len(text), 97)
    ]
    assert max(new) <= 6
    assert sum(new) / len(new) < 1.5
