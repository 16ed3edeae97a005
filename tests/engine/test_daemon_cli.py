"""`velospec daemon` and `velospec status` with a real daemon process."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from velospec.core.errors import DaemonError
from velospec.daemon.build import current_build
from velospec.daemon.running import running_daemons
from velospec.daemon.supervisor import log_file
from velospec_cli import daemon
from velospec_cli.app import app
from velospec_cli.status import show_daemons

pytestmark = pytest.mark.usefixtures("home")


def velospec(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "120"})
    assert result.exit_code == 0
    return result.stdout


def test_start_status_stop_and_log() -> None:
    assert velospec("daemon", "status") == "The daemon is not running. Editors start it when they need it.\n"
    assert json.loads(velospec("daemon", "status", "--json")) == []
    started = velospec("daemon", "start")
    (status,) = json.loads(velospec("daemon", "status", "--json"))
    assert started == f"The daemon runs as process {status['pid']}.\n"
    assert (status["name"], status["build"], status["clients"]) == ("daemon", current_build(), [])
    assert velospec("daemon", "start") == started
    shown = velospec("status")
    assert f"Daemon {status['pid']}, build {current_build()}" in shown
    assert "completion  none; install one: velospec model install" in shown
    assert "no model in memory" in shown
    report = json.loads(velospec("status", "--json"))
    assert report["defaults"] == {"completion": None, "chat": None}
    assert [each["pid"] for each in report["daemons"]] == [status["pid"]]
    assert velospec("daemon", "stop") == "The daemon has ended.\n"
    assert velospec("daemon", "stop") == "The daemon is not running.\n"
    log = velospec("daemon", "log", "--lines", "2").splitlines()
    assert len(log) == 2
    assert "leaves: asked to stop" in log[0]
    assert velospec("daemon", "log", "--path") == f"{log_file()}\n"


def test_stop_force_ends_it_without_asking() -> None:
    velospec("daemon", "start")
    assert velospec("daemon", "stop", "--force") == "The daemon has ended.\n"
    assert running_daemons() == []


def test_no_log_yet_is_a_clear_error() -> None:
    with pytest.raises(DaemonError, match="There is no log yet"):
        velospec("daemon", "log")


def test_log_follow_goes_on_through_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    log_file().parent.mkdir(parents=True)
    log_file().write_text("old\n")
    rounds = iter(range(5))

    def write_more(_seconds: float) -> None:
        number = next(rounds)
        if number == 0:
            with log_file().open("a") as stream:
                stream.write("more\n")
        elif number == 2:
            log_file().rename(log_file().with_suffix(".1"))
            log_file().write_text("rotated\n")
        elif number == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(daemon.time, "sleep", write_more)
    result = CliRunner().invoke(daemon.app, ["log", "--follow"])
    assert result.stdout.splitlines()[:3] == ["old", "more", "rotated"]


def test_models_in_memory_are_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    statistics = {"tokens_per_second": 61.7, "acceptance_rate": 0.42, "tokens_per_step": 1.9}
    model = {
        "name": "small",
        "state": "busy",
        "memory_bytes": 300 << 20,
        "requests": 3,
        "statistics": statistics,
        "measured": True,
        "exact": True,
        "notice": "It is made for tests.",
    }
    running = {
        "name": "daemon",
        "pid": 7,
        "build": "b",
        "uptime": 3725,
        "resident_bytes": 400 << 20,
        "clients": [{"name": "velospec-lsp", "pid": 8}],
        "models": [model],
    }
    daemons = [running, {"name": "other", "pid": 9, "error": "no answer"}]
    show_daemons(daemons)
    shown = capsys.readouterr().out
    assert "Daemon 7, build b, up 1 h 2 min, 400 MiB" in shown
    assert "clients: velospec-lsp (8)" in shown
    assert "model  state   memory  served  tok/s  accepted  mode" in shown
    assert "small  busy   300 MiB       3     62       42%  exact" in shown
    assert "It is made for tests." in shown
    assert "Daemon 9: no answer" in shown
