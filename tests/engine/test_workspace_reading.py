"""What an engine reads of workspaces: edits by blocks, forgetting at once, workspaces apart, in slices."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.core.learning import Lesson, TextChange
from velospec.learning.workspace.blocks import LEAST, MOST
from velospec.learning.workspace.library import Workspaces
from velospec.learning.workspace.reading import MOST_WORKSPACES, Reader, Reading, WorkspaceReading

LINE = "    total_{0} = price_{0} * count  # of item {0}\n"
TEXT = "".join(("def f_{}():\n" if not number % 9 else LINE).format(number) for number in range(5000))


class Shapes:
    """Remembers the blocks that it was given, with their languages."""

    def __init__(self, room: int = 10_000) -> None:
        self.room = room

    def new_memory(self) -> list[tuple[str, str]]:
        return []

    def learn_block(self, memory: Any, text: str, language: str) -> bool:
        if len(memory) >= self.room:
            return False
        memory.append((text, language))
        return True

    def unlearn_block(self, memory: Any, text: str, language: str) -> None:
        memory.remove((text, language))


def encode(text: str) -> Sequence[int]:
    """An id for each word, the same for equal ones."""
    return [zlib.crc32(word.encode()) >> 1 for word in text.split()]


def reading_of(workspaces: Workspaces, shapes: Shapes | None = None) -> Reading:
    return Reading(Reader(encode, lambda path, _text: path[-2:], shapes or Shapes()), workspaces)


def study(reading: Reading) -> None:
    while reading.study():
        pass


def entered(reading: Reading, workspace: str = "/w") -> WorkspaceReading:
    found = reading.enter(workspace)
    assert found is not None
    return found


def held(read: WorkspaceReading) -> int:
    return read.index.live


def learn(workspaces: Workspaces, text: str, document: str = "a.py", version: int = 1, **more: Any) -> None:
    assert workspaces.of("/w").learn(Lesson("/w", document, version, text, path=document, **more))


def test_of_an_edit_only_the_blocks_around_it_are_read_again() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    learn(workspaces, TEXT)
    study(reading)
    read = entered(reading)
    assert read.characters_read == len(TEXT)
    chance = random.Random(5)  # noqa: S311  (no secrets)
    for version in range(1, 60):
        before = read.characters_read
        place = chance.randrange(len(workspaces.of("/w").documents["a.py"].text))
        change = TextChange(place, place + chance.randrange(3), "x" * chance.randrange(4))
        lesson = Lesson("/w", "a.py", version + 1, base=version, changes=(change,))
        assert workspaces.of("/w").learn(lesson)
        study(reading)
        assert read.characters_read - before <= 2 * MOST + 2 * LEAST
    fresh = reading_of(workspaces)
    study(fresh)
    assert held(read) == held(entered(fresh))
    assert sorted(read.memory) == sorted(entered(fresh).memory)


@settings(max_examples=60, deadline=None)
@given(
    states=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(0, 40), st.booleans()), max_size=8
    )
)
def test_whatever_came_before_what_is_read_is_the_last_state(
    states: list[tuple[str, int, int, bool]],
) -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    lines = TEXT.splitlines(keepends=True)
    for version, (document, start, length, forget) in enumerate(states):
        learn(workspaces, "".join(lines[start * 9 : (start + length) * 9]), document, version)
        if forget:
            workspaces.forget("/w", "a")
        reading.study(0)  # begin, and be interrupted
    study(reading)
    fresh = reading_of(workspaces)
    study(fresh)
    read, expected = reading.enter("/w"), fresh.enter("/w")
    assert (read is None) == (expected is None)
    if read is not None and expected is not None:
        assert held(read) == held(expected)
        assert sorted(read.memory) == sorted(expected.memory)


def test_what_is_forgotten_is_not_drafted_from_by_the_next_request() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    learn(workspaces, "alpha beta gamma delta\n" * 3, "a")
    learn(workspaces, "epsilon zeta eta\n" * 3, "b")
    study(reading)
    assert entered(reading).index.match(encode("beta"), 2) is not None
    workspaces.forget("/w", "a")
    read = entered(reading)
    assert read.index.match(encode("beta"), 2) is None
    assert read.index.match(encode("zeta"), 2) is not None
    assert read.memory == []  # what documents share is read anew
    study(reading)
    assert len(read.memory) == 1
    workspaces.forget("/w")
    study(reading)
    assert not reading._read  # not in memory either
    assert reading.enter("/w") is None


def test_an_index_that_has_lost_much_is_made_anew_in_slices() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    for document in ("a", "b"):
        learn(workspaces, TEXT, document)
    learn(workspaces, "epsilon zeta eta\n" * 30, "c")
    study(reading)
    for document in ("a", "b"):
        workspaces.forget("/w", document)
    read = entered(reading)
    assert read.index.crowded
    slices = 0
    while reading.study(0):
        assert entered(reading).index.match(encode("epsilon"), 1) is not None
        slices += 1
    assert slices > 1
    assert (read.index.lost, held(read)) == (0, 90)
    found = read.index.match(encode("epsilon"), 2)
    assert found is not None
    assert found[1] == tuple(encode("zeta eta"))


@settings(max_examples=30, deadline=None)
@given(data=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=12))
def test_nothing_leaks_from_one_workspace_into_another(data: list[tuple[int, int]]) -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    for number, (space, document) in enumerate(data):
        text = f"word{space} in{space} of{space}\n" * 3
        assert workspaces.of(f"/{space}").learn(Lesson(f"/{space}", f"{document}", number, text))
        if number % 2:
            reading.enter(f"/{space}")
            study(reading)
    for space, _ in data:
        reading.enter(f"/{space}")
        study(reading)
        read = entered(reading, f"/{space}")
        allowed = set(encode(f"word{space} in{space} of{space}\n" * 3))
        assert set(read.index.ids.tolist()) - {-1} <= allowed
        assert all(f"word{space}" in text for text, _ in read.memory)
    assert len(reading._read) <= MOST_WORKSPACES


def test_a_request_never_waits_for_more_than_a_slice() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    learn(workspaces, TEXT)
    slices = 0
    while reading.study(0):
        slices += 1
    assert slices >= len(TEXT) // (MOST + 100)  # one block at a time, where there is no time


def test_the_most_relevant_documents_are_read_first() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    for number, relevance in enumerate((0, 9, 5)):
        learn(workspaces, f"word{number} x\n", str(number), relevance=relevance)
    order = []
    while reading.study(0):
        read = entered(reading)
        order += [
            number
            for number in range(3)
            if number not in order and read.index.match(encode(f"word{number}"), 1) is not None
        ]
    assert order == [1, 2, 0]


def test_the_document_of_a_request_can_be_left_out() -> None:
    workspaces = Workspaces()
    reading = reading_of(workspaces)
    learn(workspaces, "one two three four\n", "a")
    learn(workspaces, "one two six seven\n", "b")
    study(reading)
    read = entered(reading)
    for document, other in (("a", "six"), ("b", "three")):
        found = read.index.match(encode("one two"), 1, read.number(document))
        assert found is not None
        assert found[1] == tuple(encode(other))
    assert read.number("c") == -1


def test_after_a_restart_what_was_read_is_read_again_before_the_first_request(tmp_path: Path) -> None:
    workspaces = Workspaces(tmp_path)
    reading = reading_of(workspaces)
    for number in range(20):
        learn(workspaces, TEXT[number * 3000 : (number + 1) * 3000], f"{number}.py")
    study(reading)
    workspaces.flush()
    again = reading_of(Workspaces(tmp_path))
    again.warm(60.0)
    before, after = entered(reading), entered(again)
    assert held(after) == held(before) > 0
    assert sorted(after.memory) == sorted(before.memory)
    for number in range(0, 1500, 7):
        tail = encode(LINE.format(number))[:4]
        found, expected = after.index.match(tail, 8), before.index.match(tail, 8)
        assert (found and found[1]) == (expected and expected[1])
