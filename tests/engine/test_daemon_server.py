"""Requests through the daemon's server, in this process and with scripted engines."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.daemon_harness import BUILD, Served, arrived, ask, outcome, run, served
from tests.support.scripted_engine import scripted_model
from velospec.core.errors import (
    BackendError,
    CancelledError,
    DaemonError,
    ModelNotFoundError,
)
from velospec.core.request import TextRequest
from velospec.core.statistics import Statistics
from velospec.daemon.client import DaemonClient
from velospec.daemon.codec import from_plain

pytestmark = pytest.mark.usefixtures("home")


def test_a_request_is_answered_and_streamed() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            pieces: list[str] = []
            completion = await client.infill(ask("say hé😀"), on_text=pieces.append)
            assert (completion.text, pieces) == ("hé😀", ["h", "é", "😀"])
            assert completion.statistics.new_tokens == 8
            assert (await client.generate(TextRequest("chat", "say hi"))).text == "hi"

    run(test())


def test_news_of_loading_reach_all_clients_once() -> None:
    async def test() -> None:
        heard: dict[str, list[tuple[str, str, float | None]]] = {"one": [], "two": []}
        async with served() as box:
            clients = [
                box.client(
                    name, on_event=lambda e, name=name: heard[name].append((e.kind, e.model, e.fraction))
                )
                for name in heard
            ]
            await asyncio.gather(*(client.status() for client in clients))
            await asyncio.gather(*(client.load() for client in clients))
            await clients[0].load("small")
            assert box.script.events == ["open small"]
            for each in heard.values():
                assert each == [("loading", "small", 1.0), ("ready", "small", None)]
            for client in clients:
                await client.close()

    run(test())


def test_listeners_that_fail_harm_nobody_but_themselves(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_news: object) -> None:
        raise RuntimeError("the listener's own fault")

    async def test() -> None:
        async with served() as box, box.client(on_event=broken) as client:
            with pytest.raises(RuntimeError, match="the listener's own fault"):
                await client.infill(ask("say x"), on_text=broken)
            assert (await client.infill(ask("say y"))).text == "y"

    run(test())
    assert "a listener of the daemon's events failed" in caplog.text


def test_newest_wins_per_document_whether_running_or_queued() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client, box.client() as other:
            running = asyncio.create_task(outcome(client.infill(ask("wait one", "a"))))
            await box.until(lambda: box.script.steps["wait one"] > 0)
            kept = asyncio.create_task(outcome(client.infill(ask("say b", "b"))))
            theirs = asyncio.create_task(outcome(other.infill(ask("say theirs", "a"))))
            queued = asyncio.create_task(outcome(client.infill(ask("say never", "a"))))
            assert await running == "cancelled"
            newest = asyncio.create_task(outcome(client.infill(ask("say newest", "a"))))
            answers = await asyncio.gather(queued, newest, kept, theirs)
            assert answers[1:] == ["newest", "b", "theirs"]
            assert answers[0] in {"cancelled", "never"}  # it may have been served before the newest came

    run(test())


def test_a_queued_request_loses_to_a_newer_one_and_never_runs() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            running = asyncio.create_task(outcome(client.infill(ask("wait gate", "x"))))
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            old = asyncio.create_task(outcome(client.infill(ask("say old", "a"))))
            await arrived(client)
            new = asyncio.create_task(outcome(client.infill(ask("say new", "a"))))
            assert await old == "cancelled"
            box.script.gates["gate"].set()
            assert [await running, await new] == ["gate", "new"]
            assert box.script.events == ["open small", "wait gate", "say new"]

    run(test())


def test_what_nobody_waits_for_gives_way_to_every_other_request() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client, box.client() as other:
            ahead = asyncio.create_task(outcome(client.infill(ask("wait ahead", "a", background=True))))
            await box.until(lambda: box.script.steps["wait ahead"] > 0)
            later = asyncio.create_task(outcome(client.infill(ask("say later", "a", background=True))))
            await arrived(client)
            running = asyncio.create_task(outcome(other.infill(ask("wait gate", "b"))))
            assert await ahead == "cancelled"
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            same = asyncio.create_task(outcome(other.infill(ask("say same", "b", background=True))))
            await arrived(other)
            box.script.gates["gate"].set()
            # It takes no other request's place, and is done when there is nothing else to do.
            assert [await running, await later, await same] == ["gate", "later", "same"]
            (worker,) = box.server._pool.workers
            assert worker.abandoned == 0

    run(test())


def test_cancel_is_answered_at_once_and_stops_within_a_step() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            task = asyncio.create_task(client.infill(ask("steps 5000")))
            await box.until(lambda: box.script.steps["steps 5000"] > 3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await box.until(lambda: not box.server.busy)
            steps = box.script.steps["steps 5000"]
            assert steps < 4000
            assert (await client.infill(ask("say next"))).text == "next"
            assert box.script.steps["steps 5000"] == steps

    run(test())


def test_a_client_that_leaves_takes_its_requests_along() -> None:
    async def test() -> None:
        async with served() as box, box.client() as other:
            client = box.client()
            running = asyncio.create_task(outcome(client.infill(ask("wait never"))))
            await box.until(lambda: box.script.steps["wait never"] > 0)
            queued = asyncio.create_task(outcome(client.infill(ask("say queued", "b"))))
            await arrived(client)
            await client.close()
            assert [await running, await queued] == ["daemon", "daemon"]
            assert (await other.infill(ask("say mine"))).text == "mine"
            assert box.script.events == ["open small", "wait never", "say mine"]

    run(test())


def test_the_order_of_service_is_fair_between_clients() -> None:
    async def test() -> None:
        async with served() as box, box.client() as greedy, box.client() as modest:
            gate = asyncio.create_task(greedy.infill(ask("wait gate", "0")))
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            tasks = []
            for client, prompts in ((greedy, ("say g1", "say g2", "say g3")), (modest, ("say m1", "say m2"))):
                tasks += [asyncio.create_task(client.infill(ask(each, each))) for each in prompts]
                await arrived(client)
            box.script.gates["gate"].set()
            await asyncio.gather(gate, *tasks)
            assert box.script.events[2:] == ["say g1", "say m1", "say g2", "say m2", "say g3"]

    run(test())


def test_an_engine_that_fails_answers_without_its_message_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            with pytest.raises(BackendError, match=r"^The engine failed\. See `velospec daemon log`\.$"):
                await client.infill(ask("fail secret = 'source text'"))
            assert (await client.infill(ask("say on"))).text == "on"

    run(test())
    assert "ValueError" in caplog.text
    assert "source text" not in caplog.text


def test_status_tells_all_there_is() -> None:
    async def test() -> None:
        async with served() as box, box.client("editor") as client:
            counts = (await client.infill(ask("say x"))).statistics
            status = await client.status()
            assert status["build"] == BUILD
            assert counts.new_tokens == 8
            assert [each["name"] for each in status["clients"]] == ["editor"]
            assert status["resident_bytes"] > 1 << 20
            statistics = status["models"][0].pop("statistics")
            assert from_plain(Statistics, statistics, lenient=True) == counts
            derived = ("tokens_per_second", "acceptance_rate", "tokens_per_step")
            assert [statistics[name] for name in derived] == [16.0, 0.5, 2.0]
            assert status["models"] == [
                {
                    "name": "small",
                    "roles": ["completion"],
                    "state": "ready",
                    "memory_bytes": 800,
                    "requests": 1,
                    "queued": 0,
                    "measured": False,
                }
            ]

    run(test())


def test_it_leaves_when_the_last_client_has_gone_and_the_time_has_passed() -> None:
    async def test() -> None:
        async with served(idle_seconds=0.2) as box:
            client = box.client()
            await client.status()
            await asyncio.sleep(0.6)
            assert not box.server._leaving.is_set()
            await client.close()
            await box.until(box.server._leaving.is_set)

    run(test())


def test_it_leaves_when_its_socket_was_removed() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.status()
            box.endpoint.address_file.unlink()
            await box.until(box.server._leaving.is_set)
            await box.until(lambda: client._link is None)

    run(test())


def test_many_clients_asking_and_cancelling_at_random_all_get_one_answer_each() -> None:
    async def one(box: Served, number: int) -> list[str]:
        rng = random.Random(number)  # noqa: S311 - a reproducible test, nothing secret
        answers = []
        async with box.client(f"client {number}") as client:
            for step in range(12):
                task = asyncio.create_task(outcome(client.infill(ask(f"steps {rng.randint(1, 4)}", "d"))))
                await asyncio.sleep(rng.random() * 0.01)
                if rng.random() < 0.4:
                    task.cancel()
                answers += await asyncio.gather(task, return_exceptions=True)
                assert len(answers) == step + 1
        return ["gone" if isinstance(each, asyncio.CancelledError) else str(each) for each in answers]

    async def test() -> None:
        async with served() as box:
            all_answers = await asyncio.gather(*(one(box, number) for number in range(6)))
            assert {each for answers in all_answers for each in answers} <= {"done", "gone"}
            await box.until(lambda: not box.server.busy)
            assert box.server._pool._jobs == {}

    run(test())


def test_a_client_without_a_daemon_says_so_and_starts_none() -> None:
    async def test() -> None:
        async with DaemonClient(start=False) as client:
            with pytest.raises(DaemonError, match="The daemon is not running"):
                await client.status()
            assert await client.stop() == 0

    run(test())


def test_errors_keep_their_class_cause_and_remedy_over_the_wire() -> None:
    async def test() -> None:
        async with served(scripted_model("talker", roles=("chat",))) as box, box.client() as client:
            with pytest.raises(ModelNotFoundError) as caught:
                await client.infill(ask("say z"))
            assert caught.value.cause == "No model is installed."
            assert not isinstance(caught.value, CancelledError)

    run(test())
