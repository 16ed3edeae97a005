"""Which request is worked on: the newest; who is answered null, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from velospec_lsp.completion.arbiter import Arbiter


class Work:
    """Work that ends when it is told to."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.cancelled: list[str] = []
        self.gates: dict[str, asyncio.Future[str]] = {}

    def of(self, name: str) -> Callable[[], Coroutine[Any, Any, str]]:
        gate = self.gates.setdefault(name, asyncio.get_running_loop().create_future())

        async def work() -> str:
            self.started.append(name)
            try:
                return await gate
            except asyncio.CancelledError:
                self.cancelled.append(name)
                raise

        return work


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def in_loop(test: Callable[[Arbiter[str], Work], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            await test(Arbiter(), Work())

        asyncio.run(main())

    run.__name__ = test.__name__  # what pytest shows
    return run


@in_loop
async def test_the_newer_request_answers_the_older_at_once(arbiter: Arbiter[str], work: Work) -> None:
    older = arbiter.submit("inline", "a", 1, work.of("1"))
    await settle()
    newer = arbiter.submit("inline", "a", 2, work.of("2"))
    assert older.done()
    assert older.result() is None
    await settle()
    assert work.cancelled == ["1"]
    work.gates["2"].set_result("two")
    assert await newer == "two"


@in_loop
async def test_another_place_supersedes_other_channels_too(arbiter: Arbiter[str], work: Work) -> None:
    older = arbiter.submit("popup", "a", 1, work.of("1"))
    newer = arbiter.submit("inline", "a", 2, work.of("2"))
    assert older.result() is None
    work.gates["2"].set_result("two")
    assert await newer == "two"


@in_loop
async def test_two_channels_at_one_place_share_a_run(arbiter: Arbiter[str], work: Work) -> None:
    answers = [arbiter.submit(channel, "a", 1, work.of("1")) for channel in ("popup", "inline")]
    await settle()
    answers[0].cancel()
    work.gates["1"].set_result("one")
    assert await answers[1] == "one"
    assert work.started == ["1"]


@in_loop
async def test_a_repeated_request_takes_the_run_over(arbiter: Arbiter[str], work: Work) -> None:
    older = arbiter.submit("inline", "a", 1, work.of("1"))
    newer = arbiter.submit("inline", "a", 1, work.of("1"))
    assert older.result() is None
    await settle()
    work.gates["1"].set_result("one")
    assert await newer == "one"
    assert (work.started, work.cancelled) == (["1"], [])


@in_loop
async def test_cancelling_the_last_that_waits_stops_the_work(arbiter: Arbiter[str], work: Work) -> None:
    answer = arbiter.submit("inline", "a", 1, work.of("1"))
    await settle()
    answer.cancel()
    await settle()
    assert work.cancelled == ["1"]
    again = arbiter.submit("inline", "a", 1, work.of("2"))
    work.gates["2"].set_result("two")
    assert await again == "two"


@in_loop
async def test_documents_are_apart(arbiter: Arbiter[str], work: Work) -> None:
    first = arbiter.submit("inline", "a", 1, work.of("1"))
    second = arbiter.submit("inline", "b", 2, work.of("2"))
    await settle()
    work.gates["1"].set_result("one")
    work.gates["2"].set_result("two")
    assert (await first, await second) == ("one", "two")


@in_loop
async def test_what_the_work_raises_reaches_who_waits(arbiter: Arbiter[str], work: Work) -> None:
    answer = arbiter.submit("inline", "a", 1, work.of("1"))
    await settle()
    work.gates["1"].set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        await answer


@in_loop
async def test_withdrawing_answers_null(arbiter: Arbiter[str], work: Work) -> None:
    answers = [arbiter.submit("inline", name, 1, work.of(name)) for name in ("a", "b")]
    await settle()
    arbiter.withdraw("a")
    assert answers[0].result() is None
    assert not answers[1].done()
    arbiter.withdraw()
    assert answers[1].result() is None
    await settle()
    assert sorted(work.cancelled) == ["a", "b"]
