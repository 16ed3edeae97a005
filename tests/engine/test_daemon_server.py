from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.daemon_harness import BUILD, Served, ask, served, short_home, wire
from tests.support.scripted_engine import Script, scripted_model
from velospec.core.errors import (
    BackendError,
    CancelledError,
    DaemonError,
    ModelLoadError,
    ModelNotFoundError,
    VeloSpecError,
)
from velospec.core.request import TextRequest
from velospec.daemon import protocol as p
from velospec.daemon import session
from velospec.daemon.client import DaemonClient

HELLO = p.Hello(p.PROTOCOL, BUILD, "raw", 1)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_home() as folder:
        monkeypatch.setenv("VELOSPEC_HOME", str(folder))
        yield folder


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


async def outcome(request: Coroutine[Any, Any, Any]) -> str:
    """The text of a completion, or the code of the error."""
    try:
        return str((await request).text)
    except VeloSpecError as error:
        return error.code


async def arrived(client: DaemonClient) -> dict[str, Any]:
    """The status, asked for behind what the client's other tasks have to send: all of that is queued now."""
    await asyncio.sleep(0)
    return await client.status()


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


def test_a_cancelled_request_does_not_stop_the_load() -> None:
    async def test() -> None:
        script = Script()
        script.gates["load small"].clear()
        async with served(script=script) as box, box.client() as client:
            task = asyncio.create_task(client.infill(ask("say early")))
            await box.until(lambda: script.events == ["open small"])
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.status())["models"][0]["state"] == "loading"
            script.gates["load small"].set()
            assert (await client.infill(ask("say late"))).text == "late"
            assert script.events == ["open small", "say late"]

    run(test())


def test_the_least_recently_used_model_leaves_for_one_that_needs_its_place() -> None:
    async def test() -> None:
        models = [scripted_model(name, size=80) for name in ("a", "b", "c")]
        async with served(*models, memory_budget=200) as box, box.client() as client:
            for name in ("a", "b", "a", "c"):
                assert (await client.infill(ask(f"say {name}"), model=name)).text == name
            assert box.script.events == [
                *("open a", "say a", "open b", "say b", "say a"),
                *("close b", "open c", "say c"),
            ]
            assert [each["name"] for each in (await client.status())["models"]] == ["a", "c"]

    run(test())


def test_a_model_in_use_is_never_unloaded_and_the_next_waits_for_its_place() -> None:
    async def test() -> None:
        models = [scripted_model(name, size=80) for name in ("a", "b")]
        async with served(*models, memory_budget=100) as box, box.client() as client:
            running = asyncio.create_task(client.infill(ask("wait gate"), model="a"))
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            waiting = asyncio.create_task(client.infill(ask("say b"), model="b"))
            status = await arrived(client)
            states = {each["name"]: each["state"] for each in status["models"]}
            assert states == {"a": "busy", "b": "waiting"}
            with pytest.raises(DaemonError, match="The model a is in use"):
                await client.unload("a")
            box.script.gates["gate"].set()
            assert [(await running).text, (await waiting).text] == ["gate", "b"]
            assert box.script.events == ["open a", "wait gate", "close a", "open b", "say b"]

    run(test())


def test_a_model_over_the_budget_is_refused_with_both_sizes() -> None:
    async def test() -> None:
        models = [scripted_model("huge", size=80 << 20), scripted_model("small")]
        async with served(*models, memory_budget=10 << 20) as box, box.client() as client:
            with pytest.raises(
                ModelLoadError, match="huge needs about 90 MiB of memory; 10 MiB are set aside"
            ):
                await client.infill(ask("say x"))
            assert (await client.infill(ask("say y"), model="small")).text == "y"

    run(test())


def test_unload_frees_the_model_and_the_next_request_loads_it_again() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.infill(ask("say x"))
            await client.unload("small")
            await client.unload("small")
            assert (await client.status())["models"] == []
            await client.infill(ask("say y"))
            assert box.script.events == ["open small", "say x", "close small", "open small", "say y"]

    run(test())


def test_models_are_found_by_name_and_by_role() -> None:
    async def test() -> None:
        models = [scripted_model("writer"), scripted_model("talker", roles=("chat",))]
        async with served(*models) as box, box.client() as client:
            await client.infill(ask("say x"))
            await client.generate(TextRequest("chat", "say y"))
            assert box.script.events == ["open writer", "say x", "open talker", "say y"]
            with pytest.raises(ModelNotFoundError, match="No model 'none' is installed"):
                await client.infill(ask("say z"), model="none")

    run(test())


def test_only_completion_models_complete() -> None:
    async def test() -> None:
        async with served(scripted_model("talker", roles=("chat",))) as box, box.client() as client:
            with pytest.raises(ModelNotFoundError) as caught:
                await client.infill(ask("say z"))
            assert "velospec model install" in caught.value.remedy

    run(test())


def test_a_model_installed_anew_is_loaded_anew() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.infill(ask("say x"))
            box.server._models.models["small"] = scripted_model("small", sha256="new")  # type: ignore[attr-defined]  # the scripted store
            await client.infill(ask("say y"))
            assert box.script.events.count("open small") == 2

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


def test_a_load_that_fails_is_told_to_all_who_wait_and_tried_again() -> None:
    async def test() -> None:
        script = Script()
        script.failing.add("small")
        async with served(script=script) as box, box.client() as client:
            two = [outcome(client.infill(ask("say x", name))) for name in "ab"]
            assert await asyncio.gather(*two) == ["model-load", "model-load"]
            assert (await client.status())["models"] == []
            script.failing.clear()
            assert await outcome(client.infill(ask("say x"))) == "x"
            assert box.script.events == ["open small", "open small", "say x"]

    run(test())


def test_an_unmeasured_model_is_measured_in_a_pause_after_its_first_answer() -> None:
    async def test() -> None:
        async with served(measure_after=0.0, idle_seconds=0.05) as box, box.client() as client:
            await client.load()
            await asyncio.sleep(0.3)
            assert box.script.events == ["open small"]  # not before the first answer
            await client.infill(ask("say x"))
            await box.until(lambda: box.script.events[-1] == "measure small")
            await box.until(lambda: not box.server._pool.workers[0].in_use)
            await asyncio.sleep(0.3)
            assert box.script.events == ["open small", "say x", "measure small"]  # once
            assert (await client.status())["models"][0]["measured"] is True

    run(test())


def test_measuring_in_a_pause_gives_way_to_a_request() -> None:
    async def test() -> None:
        script = Script()
        script.gates["measure"].clear()
        async with served(measure_after=0.0, idle_seconds=0.05, script=script) as box, box.client() as client:
            await client.infill(ask("say x"))
            await box.until(lambda: script.events[-1] == "measure small")
            assert not box.server.busy  # a newer client may replace a daemon that only measures
            assert (await client.infill(ask("say y"))).text == "y"
            assert box.server._pool.workers[0].abandoned == 1
            await box.until(lambda: script.events.count("measure small") == 2)
            script.gates["measure"].set()
            await box.until(lambda: bool(box.server._pool.status()[0]["measured"]))
            assert script.events == ["open small", "say x", "measure small", "say y", "measure small"]

    run(test())


def test_each_measurement_that_gave_way_doubles_the_patience() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.infill(ask("say x"))
            (worker,) = box.server._pool.workers
            await box.until(lambda: not worker.in_use)
            worker.abandoned = 2
            box.server._pool.measure_in_pause(39.0, 10.0)
            assert not worker.in_use
            box.server._pool.measure_in_pause(40.0, 10.0)
            await box.until(lambda: box.script.events[-1] == "measure small")

    run(test())


def test_measuring_on_demand_answers_with_the_profile_and_tells_progress() -> None:
    async def test() -> None:
        heard: list[float | None] = []

        def on_event(event: p.Event) -> None:
            if event.kind is p.EventKind.MEASURING:
                heard.append(event.fraction)

        async with served() as box, box.client(on_event=on_event) as client:
            assert await client.measure() == {"rows": [1, 2, 4]}
            assert heard == [step / 10 for step in range(10)]

    run(test())


def test_status_tells_all_there_is() -> None:
    async def test() -> None:
        async with served() as box, box.client("editor") as client:
            await client.infill(ask("say x"))
            status = await client.status()
            assert status["build"] == BUILD
            assert [each["name"] for each in status["clients"]] == ["editor"]
            assert status["resident_bytes"] > 1 << 20
            assert status["models"] == [
                {
                    "name": "small",
                    "roles": ["completion"],
                    "state": "ready",
                    "memory_bytes": 800,
                    "requests": 1,
                    "queued": 0,
                    "statistics": {
                        "new_tokens": 8,
                        "tokens_per_second": 16.0,
                        "acceptance_rate": 0.5,
                        "tokens_per_step": 2.0,
                    },
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


@pytest.mark.parametrize(
    ("hello", "verdict"),
    [
        (HELLO, "accepted"),
        (p.Hello(p.PROTOCOL, "0.9.0+1", "older", 1), "accepted"),
        (p.Hello(p.PROTOCOL - 1, "0.9.0+1", "older", 1), "incompatible"),
        (p.Hello(p.PROTOCOL + 1, "1.1.0+1", "newer", 1), "retiring"),
        (p.Hello(p.PROTOCOL, BUILD, "stranger", 1, "guess"), "denied"),
    ],
)
def test_what_becomes_of_a_hello(hello: p.Hello, verdict: str) -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint) as raw:
            raw.send(hello)
            welcome = await raw.receive()
            assert isinstance(welcome, p.Welcome)
            assert welcome.verdict == verdict
            if verdict != "accepted":
                assert await raw.receive() is None
            assert box.server._leaving.is_set() is (verdict == "retiring")

    run(test())


def test_a_busy_daemon_does_not_retire() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            task = asyncio.create_task(outcome(client.infill(ask("wait never"))))
            await box.until(lambda: box.script.steps["wait never"] > 0)
            async with wire(box.endpoint) as raw:
                raw.send(p.Hello(p.PROTOCOL, "1.1.0+1", "newer", 1))
                welcome = await raw.receive()
                assert isinstance(welcome, p.Welcome)
                assert welcome.verdict is p.Verdict.BUSY
            await client.close()
            assert await task == "daemon"

    run(test())


def test_malformed_requests_are_answered_and_the_connection_lives_on() -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw:
            bad = p.encode(p.Status(7)).replace(b"status", b"stetus")
            for frame, number in ((bad, 7), (b"\0\0\0\x01\xc1", None), (p.Goodbye("no"), None)):
                raw.send(frame)
                answer = await raw.receive()
                assert isinstance(answer, p.Failure)
                assert (answer.code, answer.id) == ("protocol", number)
            raw.send(p.Status(8))
            assert isinstance(await raw.receive(), p.Result)

    run(test())


def test_what_comes_before_hello_ends_the_connection() -> None:
    async def test() -> None:
        async with served() as box:
            for first in (p.Status(1), b"\0\0\0\x02{}", b"\x7f\xff\xff\xff"):
                async with wire(box.endpoint) as raw:
                    raw.send(first)
                    assert isinstance(await raw.receive(), p.Failure)
                    assert await raw.receive() is None

    run(test())


def test_an_id_under_way_is_not_taken_twice() -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw:
            raw.send(p.Infill(1, ask("wait gate")))
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            raw.send(p.Infill(1, ask("say twice", "other")))
            answer = await raw.receive()
            while isinstance(answer, p.Event):
                answer = await raw.receive()
            assert answer == p.Failure("protocol", "A request with this id is under way.", "", 1)

    run(test())


def test_a_client_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_UNREAD", 1 << 14)

    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw, box.client() as reader:
            await reader.status()
            for number in range(200):
                raw.send(p.Generate(number, TextRequest(f"d{number}", "say " + "x" * 1000), stream=True))
            await box.until(lambda: len(box.server._sessions) == 1)
            assert (await reader.infill(ask("say fine"))).text == "fine"

    run(test())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200) | st.sampled_from(["hello", "status"]), max_size=6), st.booleans())
def test_no_bytes_harm_the_server(pieces: list[bytes | str], framed: bool) -> None:
    async def test() -> None:
        async with served() as box:
            async with wire(box.endpoint) as raw:
                for piece in pieces:
                    if isinstance(piece, str):
                        raw.send(HELLO if piece == "hello" else p.Status(1))
                    else:
                        raw.send(len(piece).to_bytes(4, "big") + piece if framed else piece)
            async with box.client() as client:
                assert (await client.status())["build"] == BUILD

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
