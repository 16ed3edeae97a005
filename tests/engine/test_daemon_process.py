"""The daemon as processes: started by racing clients, killed, hung, replaced, and what its clients see."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.daemon_harness import ask, short_home
from tests.support.scripted_daemon import COMMAND
from velospec.core.errors import DaemonError, NativeCrashError, VeloSpecError
from velospec.core.request import TextRequest
from velospec.daemon import protocol as p
from velospec.daemon.client import DaemonClient, run_sync
from velospec.daemon.endpoint import Endpoint, make_private
from velospec.daemon.exit_record import ExitRecord, Phase, explain, read_record
from velospec.daemon.launcher import Launcher
from velospec.daemon.options import DaemonOptions
from velospec.daemon.running import running_daemons, statuses, stop_daemons, supervisor_pid
from velospec.daemon.supervisor import log_file

BUILD = "1.0.0+1"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of the test's own; whatever daemon was started in it is gone afterwards."""
    with short_home() as folder:
        monkeypatch.setenv("VELOSPEC_HOME", str(folder))
        yield folder
        asyncio.run(stop_daemons(force=True))


def client(name: str = "test", *, command: tuple[str, ...] = COMMAND, **settings: Any) -> DaemonClient:
    """A client whose daemon has scripted engines. `options` are the daemon's."""
    options = {"build": BUILD, "measure_after": -1.0, **settings.pop("options", {})}
    launcher = Launcher(command=command, options=DaemonOptions(**options))
    return DaemonClient(name, launcher=launcher, **{"build": BUILD, **settings})


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.005)


async def recovered(work: Callable[[], Awaitable[Any]]) -> tuple[Any, int]:
    """The first answer after a crash, and how many requests failed before it."""
    failures = 0
    async with asyncio.timeout(20):
        while True:
            try:
                return await work(), failures
            except DaemonError:
                failures += 1
                await asyncio.sleep(0.05)


@asynccontextmanager
async def listening(**settings: Any) -> AsyncIterator[tuple[DaemonClient, list[p.Event]]]:
    heard: list[p.Event] = []
    async with client(on_event=heard.append, **settings) as each:
        yield each, heard


def kinds(heard: list[p.Event]) -> list[str]:
    return [each.kind for each in heard if each.kind in {p.EventKind.CRASHED, p.EventKind.RESTARTED}]


def test_ten_racing_clients_start_one_daemon() -> None:
    async def test() -> None:
        clients = [client(f"racer {number}") for number in range(10)]
        pids = {(await each)["pid"] for each in [asyncio.ensure_future(one.status()) for one in clients]}
        assert len(pids) == 1
        assert len((await clients[0].status())["clients"]) == 10
        for each in clients:
            await each.close()

    asyncio.run(test())
    assert log_file().read_text().count("supervisor") == 1


def test_racing_supervisors_without_the_launcher_leave_one() -> None:
    options = DaemonOptions(build=BUILD).arguments()
    started = [
        subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(4)
    ]
    lines = sorted(process.stdout.readline() for process in started if process.stdout)
    assert lines == [b'{"ready": true}\n'] + [b'{"taken": true}\n'] * 3
    assert asyncio.run(stop_daemons()) == 1
    for process in started:
        with process:
            assert process.wait(10) == 0


def test_the_daemon_outlives_the_client_that_started_it() -> None:
    code = (
        "from tests.engine.test_daemon_process import client, run_sync\n"
        "import asyncio\n"
        "async def main():\n"
        "    async with client() as one: print((await one.status())['pid'])\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    found = asyncio.run(statuses())
    assert [each["pid"] for each in found] == [int(done.stdout)]
    host = psutil.Process(found[0]["pid"])
    supervisor = host.parent()
    assert supervisor is not None
    assert os.getsid(supervisor.pid) == supervisor.pid  # its own session: closing a terminal does not end it


def test_two_clients_share_one_daemon_and_one_model() -> None:
    async def test() -> None:
        async with client("left") as left, client("right") as right:
            answers = await asyncio.gather(left.infill(ask("say left")), right.infill(ask("say right")))
            assert [each.text for each in answers] == ["left", "right"]
            status = await left.status()
            assert [each["name"] for each in status["models"]] == ["small"]
            assert sorted(each["name"] for each in status["clients"]) == ["left", "right"]

    asyncio.run(test())


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
        run_sync(lambda one: one.load("crasher"), **_settings())


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
        async with listening(options={"hang_seconds": 2.0}) as (one, heard):
            await one.infill(ask("say warm"))
            with pytest.raises(DaemonError, match="made no progress and was ended"):
                await one.infill(ask("freeze"))
            answer, _ = await recovered(lambda: one.infill(ask("say back")))
            assert answer.text == "back"
            assert kinds(heard) == ["crashed", "restarted"]

    asyncio.run(test())


def test_slow_work_that_makes_steps_is_no_hang() -> None:
    async def test() -> None:
        async with client(options={"hang_seconds": 1.0}) as one:
            assert (await one.infill(ask("steps 1500"))).text == "done"  # three seconds

    asyncio.run(test())


def test_a_stopped_event_loop_is_a_hang_too() -> None:
    async def test() -> None:
        async with listening(options={"hang_seconds": 1.5}) as (one, heard):
            pid = (await one.status())["pid"]
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(DaemonError, match="made no progress"):
                await one.status()
            assert kinds(heard) == ["crashed"]

    asyncio.run(test())


def test_a_newer_client_retires_an_idle_older_daemon() -> None:
    async def test() -> None:
        async with listening(build="1.0.0+1") as (old, heard), client("new", build="1.1.0+1") as new:
            first = await old.status()
            second = await new.status()
            assert (first["build"], second["build"]) == ("1.0.0+1", "1.1.0+1")
            assert len(running_daemons()) == 1
            assert (await old.infill(ask("say shared"))).text == "shared"  # the older client goes along
            assert (await old.status())["pid"] == second["pid"]
            assert kinds(heard) == []

    asyncio.run(test())


def test_a_newer_client_runs_its_own_daemon_beside_a_busy_older_one() -> None:
    async def test() -> None:
        async with client("old", build="1.0.0+1") as old, client("new", build="1.1.0+1") as new:
            busy = asyncio.create_task(old.infill(ask("steps 100000")))
            await asyncio.sleep(0)
            pid = (await old.status())["pid"]
            second = await new.status()
            assert second["build"] == "1.1.0+1"
            assert second["pid"] != pid
            assert len(running_daemons()) == 2
            async with client("new too", build="1.1.0+1") as third:
                assert (await third.status())["pid"] == second["pid"]
            assert not busy.done()
            assert await new.stop() == 2
            with pytest.raises(DaemonError, match="The daemon left: asked to stop"):
                await busy

    asyncio.run(test())


def test_an_older_client_of_another_protocol_runs_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with client("new", build="1.1.0+1") as new, client("old", build="1.0.0+1") as old:
            pid = (await new.status())["pid"]
            monkeypatch.setattr(old, "_hello", p.Hello(p.PROTOCOL - 1, "1.0.0+1", "old", os.getpid()))
            with pytest.raises(DaemonError):  # the daemon that it starts here speaks the newer protocol too
                await old.status()
            assert (await new.status())["pid"] == pid
            assert len(running_daemons()) == 2

    asyncio.run(test())


def test_it_leaves_when_idle_and_is_started_again() -> None:
    async def test() -> None:
        options = {"idle_seconds": 0.3}
        async with client(options=options) as one:
            first = (await one.status())["pid"]
        await until(lambda: not running_daemons())
        assert not psutil.pid_exists(first)
        async with client(options=options) as one:
            assert (await one.status())["pid"] != first

    asyncio.run(test())


@pytest.mark.parametrize("whom", ["supervisor", "host"])
def test_sigterm_ends_it_cleanly(whom: str) -> None:
    async def test() -> None:
        async with listening() as (one, heard):
            host = (await one.status())["pid"]
            running = asyncio.create_task(one.infill(ask("steps 100000")))
            await asyncio.sleep(0.3)
            pid = host if whom == "host" else supervisor_pid(running_daemons()[0])
            assert pid
            os.kill(pid, signal.SIGTERM)
            with pytest.raises(DaemonError, match="The daemon left: asked by a signal"):
                await running
            await until(lambda: not running_daemons())
            assert not psutil.pid_exists(host)
            assert kinds(heard) == []
            assert not Endpoint.named("daemon").address_file.exists()

    asyncio.run(test())


def test_stale_files_of_a_dead_daemon_are_no_obstacle(home: Path) -> None:
    endpoint = Endpoint.named("daemon")
    endpoint.prepare()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(endpoint.address_file))
    endpoint.lock_file.write_text("999999")
    assert run_sync(lambda one: one.status(), **_settings())["pid"] > 0


def test_a_home_that_cannot_be_written_to_is_a_clear_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home / "file"
    blocked.write_text("")
    monkeypatch.setenv("VELOSPEC_HOME", str(blocked))
    with pytest.raises(DaemonError, match=r"The daemon's folder .* cannot be used: Not a directory\."):
        run_sync(lambda one: one.status(), **_settings())
    monkeypatch.setenv("VELOSPEC_HOME", str(home))


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_home_is_a_clear_error(home: Path) -> None:
    home.chmod(0o500)
    try:
        with pytest.raises(DaemonError, match="Permission denied"):
            run_sync(lambda one: one.status(), **_settings())
    finally:
        home.chmod(0o700)


def test_an_open_folder_is_closed_and_a_foreign_one_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "open"
    folder.mkdir(mode=0o777)
    make_private(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (home / "link").symlink_to(folder)
    with pytest.raises(DaemonError, match="belongs to somebody else or is a link"):
        make_private(home / "link")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(DaemonError, match="belongs to somebody else"):
        make_private(folder)


def test_files_are_private(home: Path) -> None:
    run_sync(lambda one: one.status(), **_settings())
    endpoint = Endpoint.named("daemon")
    assert stat.S_IMODE(endpoint.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(endpoint.address_file.stat().st_mode) == 0o600


def test_a_long_path_falls_back_to_a_short_private_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    monkeypatch.setenv("VELOSPEC_HOME", str(deep))
    address = Path(run_sync(lambda one: one.status(), **_settings())["socket"])
    try:
        assert len(os.fsencode(address)) <= 107
        assert not address.is_relative_to(home)
        assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700
        assert asyncio.run(stop_daemons()) == 1
    finally:
        address.parent.rmdir()


def test_the_loopback_port_serves_with_its_token_only(home: Path) -> None:
    async def test() -> None:
        async with client(options={"transport": "tcp"}) as one:
            assert (await one.infill(ask("say tcp"))).text == "tcp"
        file = Endpoint.named("daemon", "tcp").address_file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert [each["pid"] for each in await statuses()]
        text = file.read_text()
        file.write_text(text.replace('"token": "', '"token": "x'))
        async with client(options={"transport": "tcp"}) as one:
            with pytest.raises(DaemonError, match="did not accept our token"):
                await one.status()
        file.write_text(text)

    asyncio.run(test())


def test_a_daemon_that_cannot_start_tells_why(home: Path) -> None:
    with pytest.raises(DaemonError, match=r"The daemon did not start: ModuleNotFoundError: No module named"):
        run_sync(
            lambda one: one.status(), **_settings(command=(sys.executable, "-c", "import nowhere_at_all"))
        )
    with pytest.raises(DaemonError, match=r"The daemon cannot be started: .*No such file"):
        run_sync(lambda one: one.status(), **_settings(command=("/nowhere/python",)))


def test_a_host_that_crashes_while_it_starts_is_told_apart(home: Path) -> None:
    code = (
        "import sys\n"
        "from velospec.daemon.options import parse\n"
        "from velospec.daemon.supervisor import supervise\n"
        "crash = 'import os; os.kill(os.getpid(), 4)'\n"
        "sys.exit(supervise(parse(sys.argv[1:]), (sys.executable, '-c', crash)))"
    )
    with pytest.raises(NativeCrashError, match=r"crashed \(SIGILL\) while it started"):
        run_sync(lambda one: one.status(), **_settings(command=(sys.executable, "-c", code)))


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


def test_the_log_is_rotated(home: Path) -> None:
    log_file().parent.mkdir(parents=True)
    log_file().write_text("x" * ((1 << 20) - 10))
    run_sync(lambda one: one.status(), **_settings())
    assert log_file().stat().st_size < 1 << 16
    assert log_file().with_name("daemon.log.1").stat().st_size == (1 << 20) - 10


def test_generate_uses_the_chat_model() -> None:
    answer = run_sync(lambda one: one.generate(TextRequest("chat", "say hi")), **_settings())
    assert answer.text == "hi"
    assert [model["name"] for model in asyncio.run(statuses())[0]["models"]] == ["talker"]


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


def test_the_client_imports_nothing_heavy() -> None:
    code = "import velospec.daemon.client, velospec.daemon.supervisor, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"llama_cpp", "torch", "xgrammar", "triton", "numpy", "psutil", "huggingface_hub"}
    assert heavy.isdisjoint(done.stdout.split())


def _settings(**changes: Any) -> dict[str, Any]:
    command = changes.pop("command", COMMAND)
    options = DaemonOptions(build=BUILD, measure_after=-1.0)
    return {"build": BUILD, "launcher": Launcher(command=command, options=options), **changes}
