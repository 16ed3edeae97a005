"""Models in memory: loading, roles, budget, unloading, measuring in pauses."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from tests.support.daemon_harness import arrived, ask, outcome, run, served
from tests.support.scripted_engine import Script, scripted_model
from velospec.core.errors import (
    DaemonError,
    ModelLoadError,
    ModelNotFoundError,
)
from velospec.core.request import TextRequest
from velospec.daemon import protocol as p
from velospec.daemon import worker as worker_module
from velospec.daemon.jobs import Job, Task
from velospec.daemon.worker import Worker

pytestmark = pytest.mark.usefixtures("home")


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


def test_unload_answers_when_the_memory_is_free() -> None:
    async def test() -> None:
        script = Script()
        script.gates["close small"].clear()
        async with served(script=script) as box, box.client() as client:
            await client.infill(ask("say x"))
            two = [asyncio.create_task(client.unload("small")) for _ in range(2)]
            assert (await arrived(client))["models"] == []
            assert [each.done() for each in two] == [False, False]
            assert script.events == ["open small", "say x"]
            script.gates["close small"].set()
            await asyncio.gather(*two)
            assert script.events == ["open small", "say x", "close small"]

    run(test())


def test_what_nobody_waits_for_does_not_keep_a_model_in_memory() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            ahead = [ask("wait gate", "a", background=True), ask("say ahead", "b", background=True)]
            asked = [asyncio.create_task(outcome(client.infill(each))) for each in ahead]
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            await arrived(client)
            await client.unload("small")
            assert await asyncio.gather(*asked) == ["cancelled", "cancelled"]
            assert box.script.events == ["open small", "wait gate", "close small"]

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


def test_what_is_odd_about_a_model_is_told_once() -> None:
    async def test() -> None:
        heard: list[str] = []

        def on_event(event: p.Event) -> None:
            if event.kind is p.EventKind.MESSAGE:
                heard.append(f"{event.model}: {event.message}")

        async with served(scripted_model("odd")) as box, box.client(on_event=on_event) as client:
            await client.infill(ask("say x"))
            await client.infill(ask("say y"))
            assert heard == ["odd: This model is odd."]

    run(test())


def test_a_model_installed_anew_is_loaded_anew() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.infill(ask("say x"))
            box.server._models.models["small"] = scripted_model("small", sha256="new")  # type: ignore[attr-defined]  # the scripted store
            await client.infill(ask("say y"))
            assert box.script.events.count("open small") == 2

    run(test())


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


def test_a_measurement_that_a_busy_machine_blurred_is_repeated_with_more_patience() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            box.script.blurred = True
            await client.infill(ask("say x"))
            (worker,) = box.server._pool.workers
            await box.until(lambda: not worker.in_use)
            box.server._pool.measure_in_pause(10.0, 10.0)
            await box.until(lambda: worker.abandoned == 1)
            await box.until(lambda: not worker.in_use)
            box.server._pool.measure_in_pause(19.0, 10.0)
            assert not worker.in_use
            box.script.blurred = False
            box.server._pool.measure_in_pause(20.0, 10.0)
            await box.until(lambda: bool(worker.description["measured"]))
            assert worker.abandoned == 1

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


def test_a_job_is_stuck_when_it_makes_no_step_for_the_limit_and_only_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(worker_module.time, "monotonic", lambda: now[0])

    def later(seconds: float) -> bool:
        now[0] += seconds
        return worker.stuck(10.0)

    worker = Worker(scripted_model("small"), Script().open, Mock(), Mock(), Mock())
    assert not later(1000.0)  # nothing runs
    worker._current = job = Job(1, Task.INFILL, Mock())
    assert not later(1000.0)  # it has just begun, as far as we know
    assert not later(10.0)
    job.token.cancelled  # noqa: B018 - looking at the token is a step
    assert not later(5.0)
    assert not later(10.0)
    assert later(0.1)
    worker._current = Job(1, Task.INFILL, Mock())
    assert not later(1000.0)
