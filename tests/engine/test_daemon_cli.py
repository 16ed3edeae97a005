"""`velospec daemon` and `velospec status` with a real daemon process."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from velospec.core.errors import DaemonError
from velospec.core.statistics import ProposerCount, Statistics
from velospec.daemon.build import current_build
from velospec.daemon.codec import to_plain
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
    counts = Statistics(
        prompt_tokens=100,
        reused_tokens=60,
        prefilled_tokens=39,
        prefill_seconds=0.1,
        steps=10,
        new_tokens=19,
        drafted_tokens=20,
        accepted_tokens=9,
        decode_seconds=0.4,
        propose_seconds=0.004,
        score_seconds=0.38,
        decide_seconds=0.008,
        drafted_at=(8, 8, 4),
        accepted_at=(6, 3, 0),
        rows=(0, 2, 0, 8),
        scored_seconds_at=(0.0, 0.04, 0.0, 0.34),
        expected_seconds_at=(0.0, 0.04, 0.0, 0.32),
        proposers={"ngram": ProposerCount(3, 8, 2), "suffix": ProposerCount(5, 12, 7)},
    )
    derived = {"tokens_per_second": 61.7, "acceptance_rate": 0.42, "tokens_per_step": 1.9}
    statistics = {**to_plain(counts), **derived}
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
    totals = shown.partition("since it was loaded:\n")[2].splitlines()[:-1]
    assert [" ".join(line.split()) for line in totals] == [
        "19 tokens in 10 steps, 1.90 a step, 47.5 tokens/s.",
        "Of 100 prompt tokens, 60 were in the cache and 39 were read at 390 tokens/s.",
        "Accepted by the position in the draft: 1: 75%, 2: 38%, 3: 0%.",
        "",
        "proposer batches drafted accepted",
        "suffix 5 12 7 58%",
        "ngram 3 8 2 25%",
        "all 8 20 9 45%",
        "",
        "rows in the batch batches took expected",
        "1 2 20.0 ms 20.0 ms 1.00x",
        "3 8 42.5 ms 40.0 ms 1.06x",
        "Time of decoding: drafting 1.0%, the model 95.0%, deciding 2.0%, the rest 2.0%.",
    ]
