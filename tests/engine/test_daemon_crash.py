"""What clients see when the daemon crashes, is killed or hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.daemon_harness import ask
from tests.support.daemon_processes import client, kinds, listening, recovered, settings, until
from velospec.core.errors import DaemonError, NativeCrashError, VeloSpecError
from velospec.daemon import loss
from velospec.daemon.client import run_sync
from velospec.daemon.exit_record import ExitRecord, Phase, explain, read_record
from velospec.daemon.running import running_daemons, supervisor_pid
from velospec.daemon.supervisor import log_file

pytestmark = pytest.mark.usefixtures("home")


def test_sigkill_mid_request_is_an_error_then_a_working_answer_within_the_back_off() -> None:
    async def test() -> None:
        async with listening() as (one, heard):
            await one.infill(ask("say warm"))
            pid = (await one.status())["pid"]
            task = asyncio.create_task(one.infill(ask("steps 100000")))
            await asyncio.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(DaemonError, match="killed, most likely because memory ran out"):
                await task
            lost = time.monotonic()
            with pytest.raises(DaemonError, match=r"It is started again in 0\.\d s"):
                await one.infill(ask("say early"))
            answer, failures = await recovered(lambda: one.infill(ask("say back")))
            assert answer.text == "back"
            assert failures >= 1
            assert time.monotonic() - lost >= 0.4  # the first pause is half a second
            assert kinds(heard) == ["crashed", "restarted"]

    asyncio.run(test())


def test_a_supervisor_that_is_slow_to_notice_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "_ALIVE_SECONDS", 0.2)

    async def test() -> None:
        async with listening() as (one, heard):
            await one.infill(ask("say warm"))
            pid = (await one.status())["pid"]
            supervisor = supervisor_pid(running_daemons()[0])
            assert supervisor
            task = asyncio.create_task(one.infill(ask("wait gate")))
            os.kill(supervisor, signal.SIGSTOP)
            os.kill(pid, signal.SIGKILL)
            await asyncio.wait([task], timeout=1.5)
            os.kill(supervisor, signal.SIGCONT)
            with pytest.raises(DaemonError, match="killed, most likely because memory ran out"):
                await task
            assert (await recovered(lambda: one.infill(ask("say back"))))[0].text == "back"
            assert kinds(heard)[:1] == ["crashed"]

    asyncio.run(test())


def test_the_supervisor_killed_takes_the_host_along_and_a_new_one_starts() -> None:
    async def test() -> None:
        async with listening() as (one, heard):
            pid = (await one.status())["pid"]
            supervisor = supervisor_pid(running_daemons()[0])
            assert supervisor
            os.kill(supervisor, signal.SIGKILL)
            await until(lambda: not psutil.pid_exists(pid))
            answer, _ = await recovered(lambda: one.infill(ask("say back")))
            assert answer.text == "back"
            assert kinds(heard) == []  # the host left by itself, and said goodbye

    asyncio.run(test())


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT]
)
def test_a_native_crash_in_the_first_decode_names_the_fault_and_the_remedy(number: signal.Signals) -> None:
    async def test() -> None:
        async with listening() as (one, heard):
            with pytest.raises(NativeCrashError) as caught:
                await one.infill(ask(f"signal {int(number)}"))
            assert caught.value.cause == (
                f"The daemon crashed ({number.name}) in the first decode of small. Most likely the native "
                "build of llama-cpp-python was not made for this processor."
            )
            assert (
                'pip:  CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" pip install --force-reinstall '
                "--no-cache-dir --no-binary llama-cpp-python llama-cpp-python==" in caught.value.remedy
            )
            assert "pipx runpip velospec install" in caught.value.remedy
            assert "uv tool upgrade velospec" in caught.value.remedy
            assert kinds(heard)[:1] == ["crashed"]

    asyncio.run(test())


def test_a_native_crash_while_loading_names_the_model() -> None:
    with pytest.raises(NativeCrashError, match=r"crashed \(SIGILL\) while it loaded crasher\."):
        run_sync(lambda one: one.load("crasher"), **settings())


def test_a_crash_while_serving_is_told_apart_from_a_broken_build() -> None:
    async def test() -> None:
        async with listening() as (one, _):
            await one.infill(ask("say warm"))
            with pytest.raises(DaemonError, match="The daemon ended by SIGSEGV") as caught:
                await one.infill(ask("signal 11"))
            assert not isinstance(caught.value, NativeCrashError)

    asyncio.run(test())


def test_crashes_in_a_row_are_told_once_and_the_pauses_grow() -> None:
    async def test() -> None:
        async with listening() as (one, heard):
            for number in range(2):
                _, failures = await recovered(one.status)
                assert (failures > 0) is (number > 0)
                with pytest.raises(DaemonError):
                    await one.infill(ask("signal 11"))
            assert one._pause == 2.0
            answer, _ = await recovered(lambda: one.infill(ask("say back")))
            assert answer.text == "back"
            assert one._pause == 0.5
            assert kinds(heard) == ["crashed", "restarted"]

    asyncio.run(test())


def test_a_hang_is_noticed_and_the_daemon_replaced() -> None:
    async def test() -> None:
        async with listening(options={"hang_seconds": 4.0}) as (one, heard):
            await one.infill(ask("say warm"))
            with pytest.raises(DaemonError, match="made no progress and was ended"):
                await one.infill(ask("freeze"))
            answer, _ = await recovered(lambda: one.infill(ask("say back")))
            assert answer.text == "back"
            assert kinds(heard) == ["crashed", "restarted"]

    asyncio.run(test())


def test_a_stopped_event_loop_is_a_hang_too() -> None:
    async def test() -> None:
        async with listening(options={"hang_seconds": 4.0}) as (one, heard):
            pid = (await one.status())["pid"]
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(DaemonError, match="made no progress"):
                await one.status()
            assert kinds(heard) == ["crashed"]

    asyncio.run(test())


def test_a_host_that_crashes_while_it_starts_is_told_apart(home: Path) -> None:
    code = (
        "import sys\n"
        "from velospec.daemon.options import parse\n"
        "from velospec.daemon.supervisor import supervise\n"
        "crash = 'import os; os.kill(os.getpid(), 4)'\n"
        "sys.exit(supervise(parse(sys.argv[1:]), (sys.executable, '-c', crash)))"
    )
    with pytest.raises(NativeCrashError, match=r"crashed \(SIGILL\) while it started"):
        run_sync(lambda one: one.status(), **settings(command=(sys.executable, "-c", code)))


def test_logs_hold_no_source_text(home: Path) -> None:
    async def test() -> None:
        async with client() as one:
            await one.infill(ask("say secret_source"))
            for prompt in ("fail secret_source", "signal 11"):
                with pytest.raises(VeloSpecError):
                    await one.infill(ask(prompt))

    asyncio.run(test())
    text = log_file().read_text()
    assert "Segmentation fault" in text
    assert "ValueError" in text
    assert "secret_source" not in text


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (None, "The daemon went away."),
        (ExitRecord(1, signal=9), "The daemon was killed, most likely because memory ran out."),
        (ExitRecord(1, status=3), "The daemon ended with status 3."),
        (ExitRecord(1, signal=11, phase=Phase.SERVING), "The daemon ended by SIGSEGV."),
        (ExitRecord(1, signal=9, hung=True), "The daemon made no progress and was ended."),
        (ExitRecord(1, signal=99), "The daemon ended by signal 99."),
    ],
)
def test_each_end_has_its_message(record: ExitRecord | None, told: str) -> None:
    assert explain(record).cause == told


def test_a_record_belongs_to_one_process(tmp_path: Path) -> None:
    record = ExitRecord(5, signal=11, phase=Phase.LOADING, model="small")
    record.write(tmp_path / "exit")
    assert read_record(tmp_path / "exit", 5) == record
    assert read_record(tmp_path / "exit", 6) is None
    (tmp_path / "exit").write_text("{")
    assert read_record(tmp_path / "exit", 5) is None
