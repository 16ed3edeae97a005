"""The order of service: in turn between clients, the newest of each document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from velospec.core.request import InfillRequest
from velospec.daemon.jobs import FairQueue, Job, Task, WorkToken


def job(client: int, document: str = "", *, background: bool = False) -> Job:
    request = InfillRequest(document, "", "")
    return Job(client, Task.INFILL, lambda _value, _error: None, request, background=background)


def test_clients_take_turns_and_each_keeps_its_order() -> None:
    queue = FairQueue()
    jobs = [job(1), job(1), job(1), job(2), job(3), job(3)]
    for each in jobs:
        assert queue.push(each) is None
    served = queue.clear()
    assert [each.client for each in served] == [1, 2, 3, 1, 3, 1]
    assert [each for each in served if each.client == 1] == jobs[:3]
    assert len(queue) == 0


def test_a_client_that_was_served_goes_behind_one_that_came_meanwhile() -> None:
    queue = FairQueue()
    first, second, other = job(1), job(1), job(2)
    queue.push(first)
    queue.push(second)
    assert queue.pop() is first
    queue.push(other)
    assert [queue.pop(), queue.pop(), queue.pop()] == [second, other, None]


def test_the_newest_of_a_document_takes_the_place_of_the_older() -> None:
    queue = FairQueue()
    old, between, new = job(1, "a"), job(1, "b"), job(1, "a")
    assert [queue.push(old), queue.push(between), queue.push(new)] == [None, None, old]
    assert queue.clear() == [new, between]


def test_documents_of_other_clients_and_nameless_ones_are_left_alone() -> None:
    queue = FairQueue()
    assert [queue.push(each) for each in (job(1, "a"), job(2, "a"), job(1), job(1))] == [None] * 4
    assert len(queue) == 4


def test_background_jobs_come_last_and_are_no_requests() -> None:
    queue = FairQueue()
    late, early = job(0, background=True), job(1)
    queue.push(late)
    queue.push(early)
    assert (len(queue), queue.requests) == (2, 1)
    assert queue.clear() == [early, late]


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["", "a", "b"]), st.booleans())))
def test_nothing_is_lost_or_served_twice_and_nobody_waits_for_two_turns(
    steps: list[tuple[int, str, bool]],
) -> None:
    queue, pushed, displaced, removed = FairQueue(), [], [], []
    for client, document, take_out in steps:
        new = job(client, document)
        pushed.append(new)
        older = queue.push(new)
        if older:
            displaced.append(older)
        if take_out:
            assert queue.remove(new)
            assert not queue.remove(new)
            removed.append(new)
    served = queue.clear()
    assert sorted(map(id, [*served, *displaced, *removed])) == sorted(map(id, pushed))
    for index, each in enumerate(served):
        waiting = {other.client for other in served[index:]} - {each.client}
        following = [other.client for other in served[index + 1 : index + 1 + len(waiting)]]
        assert set(following) == waiting  # all others who wait come before the same client again


def test_looking_at_the_token_is_a_step_and_the_loop_may_look_without_one() -> None:
    token = WorkToken()
    assert not token.cancelled
    assert not token.is_set
    token.cancel()
    assert token.is_set
    assert token.cancelled
    assert token.steps == 2


def test_a_job_is_answered_once() -> None:
    answers: list[object] = []
    once = Job(1, Task.LOAD, lambda value, _error: answers.append(value))
    once.finish("first")
    once.finish("second")
    assert answers == ["first"]
