"""The daemon as processes: started by racing clients, replaced, ended, its files and its log."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.daemon_harness import ask
from tests.support.daemon_processes import BUILD, client, kinds, listening, settings, until
from tests.support.scripted_daemon import COMMAND
from velospec.core.errors import DaemonError
from velospec.core.request import TextRequest
from velospec.daemon import protocol as p
from velospec.daemon.client import run_sync
from velospec.daemon.endpoint import Endpoint, make_private
from velospec.daemon.options import DaemonOptions
from velospec.daemon.running import running_daemons, statuses, stop_daemons, supervisor_pid
from velospec.daemon.supervisor import log_file

pytestmark = pytest.mark.usefixtures("home")


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
        "from tests.support.daemon_processes import client\n"
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
    assert run_sync(lambda one: one.status(), **settings())["pid"] > 0


def test_a_home_that_cannot_be_written_to_is_a_clear_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = home / "file"
    blocked.write_text("")
    monkeypatch.setenv("VELOSPEC_HOME", str(blocked))
    with pytest.raises(DaemonError, match=r"The daemon's folder .* cannot be used: Not a directory\."):
        run_sync(lambda one: one.status(), **settings())
    monkeypatch.setenv("VELOSPEC_HOME", str(home))


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_home_is_a_clear_error(home: Path) -> None:
    home.chmod(0o500)
    try:
        with pytest.raises(DaemonError, match="Permission denied"):
            run_sync(lambda one: one.status(), **settings())
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
    run_sync(lambda one: one.status(), **settings())
    endpoint = Endpoint.named("daemon")
    assert stat.S_IMODE(endpoint.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(endpoint.address_file.stat().st_mode) == 0o600


def test_a_long_path_falls_back_to_a_short_private_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    monkeypatch.setenv("VELOSPEC_HOME", str(deep))
    address = Path(run_sync(lambda one: one.status(), **settings())["socket"])
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
            lambda one: one.status(), **settings(command=(sys.executable, "-c", "import nowhere_at_all"))
        )
    with pytest.raises(DaemonError, match=r"The daemon cannot be started: .*No such file"):
        run_sync(lambda one: one.status(), **settings(command=("/nowhere/python",)))


def test_the_log_is_rotated(home: Path) -> None:
    log_file().parent.mkdir(parents=True)
    log_file().write_text("x" * ((1 << 20) - 10))
    run_sync(lambda one: one.status(), **settings())
    assert log_file().stat().st_size < 1 << 16
    assert log_file().with_name("daemon.log.1").stat().st_size == (1 << 20) - 10


def test_generate_uses_the_chat_model() -> None:
    answer = run_sync(lambda one: one.generate(TextRequest("chat", "say hi")), **settings())
    assert answer.text == "hi"
    assert [model["name"] for model in asyncio.run(statuses())[0]["models"]] == ["talker"]


def test_the_client_imports_nothing_heavy() -> None:
    code = "import velospec.daemon.client, velospec.daemon.supervisor, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"llama_cpp", "torch", "xgrammar", "triton", "numpy", "psutil", "huggingface_hub"}
    assert heavy.isdisjoint(done.stdout.split())
