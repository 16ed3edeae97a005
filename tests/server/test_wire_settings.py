"""The installed command, spoken to in bytes: settings, the privacy gate, commands, logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Wire

URI = "file:///project/example.py"
CHANGE = "textDocument/didChange"


def test_bad_settings_are_named_once_and_the_good_ones_count(
    start: Callable[..., Wire], answers: Answers
) -> None:
    wire = start()
    wire.initialize(
        options={"maxLines": "many", "maxLine": 3, "budgetMs": 700, "enabled": None, "exclude": ["*.x"]}
    )
    told = wire.notification("window/showMessage")
    assert told["type"] == 2
    assert told["message"] == (
        'VeloSpec: Setting velospec.maxLines is "many", but must be a whole number from 1 to 100; '
        "12 is used. There is no setting velospec.maxLine. Did you mean velospec.maxLines?"
    )
    wire.open(URI, "")
    wire.complete(URI, 0, 0)
    assert (answers.log()[-1]["budget_ms"], answers.log()[-1]["max_lines"]) == (700, 12)
    wire.complete(URI, 0, 0, triggerKind=1)
    assert answers.log()[-1]["budget_ms"] == 5000


def test_settings_are_pulled_and_pulled_again_when_they_change(
    start: Callable[..., Wire], answers: Answers
) -> None:
    wire = start()
    section: dict[str, Any] = {"maxLines": 3}
    asked: list[Any] = []

    def configuration(params: Any) -> list[Any]:
        asked.append(params["items"])
        return [dict(section)]

    wire.answers["workspace/configuration"] = configuration
    wire.initialize(
        {**WITH_INLINE, "workspace": {"configuration": True}}, options={"maxTokens": 5, "maxLines": 7}
    )
    wire.open(URI, "")
    wire.quiet()
    wire.quiet()
    wire.complete(URI, 0, 0)
    assert answers.log()[-1]["max_lines"] == 3
    section["maxLines"] = -1
    wire.notify("workspace/didChangeConfiguration", {"settings": None})
    assert "velospec.maxLines is -1" in wire.notification("window/showMessage")["message"]
    wire.open(URI, "def f():")
    wire.complete(URI, 0, 8)
    assert answers.log()[-1]["max_lines"] == 7
    assert asked == [[{"section": "velospec"}]] * 2


def test_pushed_settings_and_the_switch(wire: Wire, answers: Answers) -> None:
    answers.write({"x": "y"})
    wire.open(URI, "x")
    assert len(wire.complete(URI, 0, 1)) == 1
    wire.notify(
        "workspace/didChangeConfiguration", {"settings": {"velospec": {"enabled": False}, "other": {}}}
    )
    assert wire.notification("velospec/status")["kind"] == "inactive"
    assert wire.complete(URI, 0, 1) == []
    why = wire.call("workspace/executeCommand", {"command": "velospec.why"})
    assert (why["text"], why["stage"]) == ("The setting velospec.enabled is false.", "gate")
    wire.notify("workspace/didChangeConfiguration", {"settings": {"other": {}}})
    assert len(wire.complete(URI, 0, 1)) == 1


def test_secrets_never_reach_the_daemon(wire: Wire, answers: Answers, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("private/\n")
    for name in (".env", "private/a.py", "server.pem"):
        uri = (tmp_path / name).as_uri()
        wire.open(uri, "PASSWORD=")
        assert wire.complete(uri, 0, 9) == []
        why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [uri]})
        assert why["text"].startswith("The file is kept from the model: ")
    wire.open("git:/project/a.py", "x")
    assert wire.complete("git:/project/a.py", 0, 1) == []
    assert answers.log() == []


def test_commands(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.initialize()
    wire.open(URI, "x")
    wire.complete(URI, 0, 1)
    status = wire.call("workspace/executeCommand", {"command": "velospec.status", "arguments": []})
    assert status["kind"] == "ready"
    assert status["counts"] == {"requests": 1, "offers": 0, "accepted": 0}
    assert "Daemon: running" in status["text"]
    assert [model["name"] for model in status["daemon"]["models"]] == ["small"]
    unknown = wire.reply(wire.ask("workspace/executeCommand", {"command": "velospec.nonsense"}))
    assert unknown["error"]["code"] == -32602


def test_logs_hold_no_source_text(start: Callable[..., Wire], answers: Answers) -> None:
    wire = start(arguments=("--stdio", "--log-level", "debug"))
    wire.initialize()
    answers.write({"SECRET_TEXT": "SECRET_ANSWER"})
    wire.open(URI, "SECRET_TEXT")
    wire.notify(CHANGE, {"textDocument": {"uri": URI}, "contentChanges": [{"SECRET_KEY": "SECRET_VALUE"}]})
    assert wire.complete(URI, 0, 11)[0]["insertText"] == "SECRET_ANSWER"
    wire.close()
    log = (answers.home / "log" / "language-server.log").read_text("utf-8")
    assert "completed in" in log
    assert b"completed in" in wire.stderr
    assert "SECRET" not in log
    assert b"SECRET" not in wire.stderr
