"""The daemon with the real default model: one copy for all clients, and what becomes of a crash."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.daemon_harness import short_home
from velospec.core.errors import DaemonError
from velospec.core.request import InfillRequest, Limits
from velospec.daemon.client import DaemonClient
from velospec.daemon.launcher import Launcher
from velospec.daemon.options import from_environment
from velospec.daemon.protocol import Event, EventKind
from velospec.daemon.running import stop_daemons
from velospec.daemon.supervisor import log_file
from velospec.models.store import InstalledModel
from velospec.profile import NAME as PROFILE

pytestmark = pytest.mark.model

FIB = InfillRequest(
    "file:///fib.py",
    "def fib(n):\n    if n < 2:\n        return n\n    return ",
    "\n\nprint(fib(10))\n",
    limits=Limits(max_tokens=12),
)
LONG = InfillRequest(
    "file:///long.py", "# every prime number below a thousand\nprimes = [2, 3, 5, 7,", "", limits=Limits(512)
)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, default_model: InstalledModel) -> Iterator[Path]:
    """A home with a copy of the installed model (the file itself linked), without its profile."""
    with short_home() as folder:
        models = folder / "data" / "models"
        shutil.copytree(
            default_model.folder,
            models / default_model.name,
            copy_function=os.symlink,
            ignore=shutil.ignore_patterns(PROFILE),
        )
        monkeypatch.setenv("VELOSPEC_HOME", str(folder))
        yield models / default_model.name
        asyncio.run(stop_daemons(force=True))


def client(**settings: Any) -> DaemonClient:
    options = from_environment(measure_after=settings.pop("measure_after", -1.0))
    return DaemonClient(launcher=Launcher(options=options), **settings)


def resident(pid: int) -> int:
    """Bytes resident in the daemon's processes, the supervisor included."""
    host = psutil.Process(pid)
    return host.memory_info().rss + host.parent().memory_info().rss


def test_two_clients_at_once_have_one_daemon_and_one_model_and_are_both_served(home: Path) -> None:
    async def test() -> None:
        async with client() as one:
            alone = await one.infill(FIB)
            pid = (await one.status())["pid"]
            with_one = resident(pid)
            async with client() as two:
                other = replace(LONG, limits=Limits(24))
                answers = await asyncio.gather(one.infill(FIB), two.infill(FIB), two.infill(other))
                status = await two.status()
                assert status["pid"] == pid
                assert [model["name"] for model in status["models"]] == ["smollm2-135m-fim"]
                assert len(status["clients"]) == 2
                assert resident(pid) < 1.5 * with_one
                assert [each.text for each in answers[:2]] == [alone.text] * 2
                assert len(answers[2].token_ids) > 12

    asyncio.run(test())
    assert "every prime" not in log_file().read_text()


def test_typing_on_is_an_append_through_the_daemon_too(home: Path) -> None:
    async def test() -> None:
        async with client() as one:
            first = await one.infill(FIB)
            assert first.text.startswith("fib(n - 1) + fib(n")
            typed = InfillRequest(FIB.document, FIB.prefix + "fib(", FIB.suffix, limits=FIB.limits)
            second = await one.infill(typed)
            assert "fib(" + second.text[:8] == first.text[:12]
            assert second.statistics.prefilled_tokens <= 3

    asyncio.run(test())


def test_sigkill_mid_request_then_a_working_answer_within_the_back_off(home: Path) -> None:
    async def test() -> None:
        heard: list[Event] = []
        async with client(on_event=heard.append) as one:
            before = await one.infill(FIB)
            pieces: list[str] = []
            task = asyncio.create_task(one.infill(LONG, on_text=pieces.append))
            async with asyncio.timeout(60):
                while not pieces:  # noqa: ASYNC110 - pieces come from the client's own task
                    await asyncio.sleep(0.005)
            os.kill((await one.status())["pid"], signal.SIGKILL)
            with pytest.raises(DaemonError, match="killed"):
                await task
            async with asyncio.timeout(60):
                while [each.kind for each in heard if each.fraction is None][-1] != "restarted":  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.02)
            assert (await one.infill(FIB)).text == before.text

    asyncio.run(test())


def test_a_cancelled_decode_ends_and_the_next_request_is_served(home: Path) -> None:
    async def test() -> None:
        async with client() as one:
            await one.load()
            pieces: list[str] = []
            task = asyncio.create_task(one.infill(LONG, on_text=pieces.append))
            async with asyncio.timeout(60):
                while not pieces:  # noqa: ASYNC110 - pieces come from the client's own task
                    await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await one.infill(FIB)).text
            (model,) = (await one.status())["models"]
            assert model["requests"] == 1  # the cancelled one was not decoded to its end
            assert model["statistics"]["new_tokens"] < 30

    asyncio.run(test())


def test_measuring_in_a_pause_gives_way_to_a_request_and_leaves_the_model_as_it_was(home: Path) -> None:
    async def test() -> None:
        measuring = asyncio.Event()

        def on_event(event: Event) -> None:
            if event.kind is EventKind.MEASURING:
                measuring.set()

        async with client(measure_after=0.1, on_event=on_event) as one:
            before = await one.infill(FIB)
            async with asyncio.timeout(100):
                await measuring.wait()
            assert (await one.infill(FIB)).token_ids == before.token_ids
            (model,) = (await one.status())["models"]
            assert model["measured"] is False

    asyncio.run(test())
    assert not (home / PROFILE).exists()
