"""Slots: shared out by document, cut back to the common prefix, in step with the cache."""

from __future__ import annotations

import pytest

from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.core.errors import BackendError
from velospec.decode.slots import Slot, Slots, common_prefix

VOCABULARY = ScriptedVocabulary()


def make(slots: int = 2, *, snapshots: int | None = None) -> tuple[ScriptedBackend, Slots]:
    rule = hash_rule(VOCABULARY, seed=1, order=2)
    backend = ScriptedBackend(rule, VOCABULARY, slots=slots, snapshots=snapshots)
    return backend, Slots(backend)


def fill(slots: Slots, document: str, ids: list[int]) -> Slot:
    slot = slots.acquire(document, [*ids, 0])
    if len(slot.ids) < len(ids):
        slot.prefill(ids[len(slot.ids) :])
    return slot


def test_a_documents_slot_is_cut_back_to_the_common_prefix() -> None:
    backend, slots = make()
    first = fill(slots, "a", [1, 2, 3, 4])
    again = slots.acquire("a", [1, 2, 9, 9])
    assert again is first
    assert again.ids == [1, 2] == backend.kv[first.number]


def test_the_last_prompt_id_is_never_reused() -> None:
    _, slots = make()
    fill(slots, "a", [1, 2, 3])
    assert slots.acquire("a", [1, 2, 3]).ids == [1, 2]


def test_documents_have_slots_of_their_own() -> None:
    _, slots = make()
    assert fill(slots, "a", [1, 2]).number != fill(slots, "b", [3, 4]).number
    assert slots.acquire("a", [1, 2, 5]).ids == [1, 2]


def test_the_least_recently_used_slot_goes_to_a_new_document() -> None:
    _, slots = make()
    fill(slots, "a", [1])
    fill(slots, "b", [2])
    fill(slots, "a", [1])
    fill(slots, "c", [3])
    assert slots.acquire("a", [1, 7]).ids == [1]
    assert slots.acquire("b", [2, 7]).ids == []


def test_a_new_document_takes_a_slot_that_holds_most_of_its_prompt() -> None:
    _, slots = make()
    untitled = fill(slots, "untitled", [1, 2, 3, 4, 5])
    fill(slots, "other", [9, 9])
    saved = slots.acquire("saved", [1, 2, 3, 4, 6])
    assert saved is untitled
    assert saved.ids == [1, 2, 3, 4]


def test_a_forgotten_document_gives_its_slot_up_first() -> None:
    _, slots = make()
    fill(slots, "a", [1])
    kept = fill(slots, "b", [2])
    slots.forget("b")
    assert slots.acquire("c", [3, 3]) is kept


def test_what_is_done_ahead_spares_a_long_prompt_of_its_document() -> None:
    backend, slots = make(3)
    other = fill(slots, "other", [5])
    prompt = [1] * 10 + [2] * 100
    own = fill(slots, "a", prompt)
    ahead = slots.acquire("a", [1] * 10 + [3] * 100, background=True)
    assert ahead not in (own, other)
    assert backend.kv[own.number] == prompt
    ahead.prefill([1] * 10 + [3] * 99)
    assert slots.acquire("a", [1] * 10 + [4] * 100, background=True) is ahead
    ahead.prefill([4] * 99)
    assert slots.acquire("a", [*prompt, 7]) is own
    assert own.ids == prompt
    assert slots.acquire("a", [1] * 10 + [4] * 100) is ahead  # it has come to that
    assert slots.acquire("new", [8, 8]) is own  # which is the spare one now, and goes first


def test_what_is_done_ahead_takes_the_documents_slot_where_little_is_lost() -> None:
    _, slots = make(3)
    own = fill(slots, "a", [1] * 100 + [2] * 60)
    assert slots.acquire("a", [1] * 100 + [3] * 60, background=True) is own
    assert own.ids == [1] * 100


@pytest.mark.parametrize("count", [1, 2])
def test_with_few_slots_there_is_no_second_one(count: int) -> None:
    _, slots = make(count)
    own = fill(slots, "a", [1] * 100)
    assert slots.acquire("a", [2] * 100, background=True) is own


def test_a_closed_document_gives_both_slots_up() -> None:
    _, slots = make(3)
    own, other = fill(slots, "a", [1] * 100), fill(slots, "b", [3])
    ahead = slots.acquire("a", [2] * 100, background=True)
    slots.forget("a")
    assert {slots.acquire(name, [4, 4]).number for name in "cd"} == {own.number, ahead.number}
    assert slots.acquire("b", [3, 4]) is other


def test_a_running_state_goes_back_to_the_end_of_an_earlier_prefill() -> None:
    backend, slots = make(snapshots=1)
    slot = fill(slots, "a", [1, 2, 3])
    slot.prefill([4, 5, 6])
    assert slots.acquire("a", [1, 2, 3, 4, 5, 6, 7]).ids == [1, 2, 3, 4, 5, 6]
    assert slots.acquire("a", [1, 2, 3, 4, 9]).ids == [1, 2, 3] == backend.kv[slot.number]
    assert slots.acquire("a", [1, 2, 9]).ids == [] == backend.kv[slot.number]


def test_the_rows_of_the_last_decode_can_be_taken_back_but_for_its_first() -> None:
    backend, slots = make(snapshots=3)
    slot = fill(slots, "a", [1, 2])
    slot.decode([3, 4, 5])
    slot.truncate(4)
    slot.truncate(3)
    assert slot.ids == [1, 2, 3] == backend.kv[slot.number]
    slot.decode([4, 5])
    slot.truncate(4)
    with pytest.raises(BackendError, match="went back to 2 tokens instead of 3"):
        slot.truncate(3)
    assert slot.ids == [1, 2] == backend.kv[slot.number]


def test_a_cache_that_a_failure_left_shorter_is_read_again() -> None:
    backend, slots = make()
    slot = fill(slots, "a", [1, 2, 3, 4])
    backend.truncate(slot.number, 2)
    assert slots.acquire("a", [1, 2, 3, 4, 5]).ids == [1, 2]


def test_a_refused_cut_leaves_the_record_as_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, slots = make()
    slot = fill(slots, "a", [1, 2, 3])

    def refuse(_slot: int, _length: int) -> int:
        raise BackendError("refused")

    monkeypatch.setattr(backend, "truncate", refuse)
    with pytest.raises(BackendError):
        slots.acquire("a", [1, 9])
    assert slot.ids == [1, 2, 3] == backend.kv[slot.number]


@pytest.mark.parametrize(
    ("mine", "theirs", "limit", "expected"),
    [([], [1], 5, 0), ([1, 2], [1, 2], 5, 2), ([1, 2, 3], [1, 2, 4], 5, 2), ([1, 2, 3], [1, 2, 3], 1, 1)],
)
def test_common_prefix(mine: list[int], theirs: list[int], limit: int, expected: int) -> None:
    assert common_prefix(mine, theirs, limit) == expected
