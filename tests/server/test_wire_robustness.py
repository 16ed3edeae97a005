"""The installed command, spoken to in bytes: malformed input, settings, and every way to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Wire, at, change, frame, installed_command, notification, request
from velospec import __version__

URI = "file:///project/example.py"
INLINE = "textDocument/inlineCompletion"
CHANGE = "textDocument/didChange"


def serves(wire: Wire) -> bool:
    wire.open(URI, "x")
    return wire.complete(URI, 0, 1) == []


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"textDocument": {"uri": URI}},
        {"textDocument": {"uri": URI}, "position": {"line": "1", "character": None}, "context": {}},
        {"textDocument": URI, "position": {"line": 0, "character": 0}, "context": {"triggerKind": 2}},
    ],
)
def test_malformed_parameters_get_a_reply(wire: Wire, params: Any) -> None:
    reply = wire.reply(wire.ask(INLINE, params))
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"] == f"The parameters of {INLINE} are malformed."
    assert serves(wire)


def test_malformed_messages_get_a_reply_and_the_server_goes_on(wire: Wire) -> None:
    for body, identity, code in [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'{"jsonrpc": "1.0", "id": 7001, "method": "x"}', 7001, -32600),
        (b'{"jsonrpc": "2.0", "id": 7002}', 7002, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "x"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 7003, "method": 5}', 7003, -32600),
    ]:
        wire.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert wire.reply(identity)["error"]["code"] == code
    assert wire.reply(wire.ask("velospec/noSuchMethod"))["error"]["code"] == -32601
    assert serves(wire)


def test_malformed_notifications_are_ignored(wire: Wire) -> None:
    wire.open(URI, "text")
    for params in (None, [], {"textDocument": {"uri": URI}}, change(URI, 2) | {"contentChanges": [5]}):
        wire.notify(CHANGE, params)
    wire.notify("$/noSuchNotification", {})
    wire.notify("$/cancelRequest", {"id": 123_456})
    wire.notify(CHANGE, change("file:///not-open.py", 2, (0, 0, 0, 0, "x")))
    wire.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not-open.py"}})
    assert serves(wire)


def test_out_of_range_edits_are_clamped(wire: Wire, answers: Answers) -> None:
    wire.open(URI, "abc")
    wire.notify(CHANGE, change(URI, 2, (0, 99, 7, 3, "X"), (9, 9, 9, 9, "\nY")))
    wire.complete(URI, 1, 1)
    assert answers.log()[-1]["prefix"] == "abcX\nY"


def test_headers_as_other_clients_write_them(wire: Wire) -> None:
    body = frame(request(900, INLINE, at(URI, 0, 0))).partition(b"\r\n\r\n")[2]
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    wire.write(b"%scontent-length:%d\r\n\r\n%s" % (kind, len(body), body))
    assert wire.result(900) == []


def test_a_message_in_many_pieces(wire: Wire) -> None:
    for octet in frame(request(901, INLINE, at(URI, 0, 0))):
        wire.write(bytes([octet]))
    assert wire.result(901) == []


def test_what_comes_too_early_or_too_late_is_refused(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.notify("textDocument/didOpen", {})
    assert wire.reply(wire.ask(INLINE, at(URI, 0, 0)))["error"]["code"] == -32002
    wire.initialize()
    assert (
        wire.reply(wire.ask("initialize", {"capabilities": {}, "processId": None}))["error"]["code"] == -32600
    )
    assert wire.call("shutdown") is None
    assert wire.reply(wire.ask(INLINE, at(URI, 0, 0)))["error"]["code"] == -32600
    wire.notify("exit")
    assert wire.process.wait(30) == 0


def test_exit_codes(start: Callable[..., Wire]) -> None:
    proper, abrupt = start(), start()
    proper.initialize()
    abrupt.initialize()
    assert proper.shut_down() == 0
    abrupt.notify("exit")
    assert abrupt.process.wait(30) == 1


def test_the_end_of_stdin_ends_the_server(start: Callable[..., Wire], answers: Answers) -> None:
    wire = start()
    wire.initialize()
    answers.write({"slow": {"text": "never", "wait": True}})
    wire.open(URI, "slow")
    wire.ask(INLINE, at(URI, 0, 4))
    answers.wait_for("infill")
    assert wire.process.stdin
    wire.process.stdin.close()
    assert wire.process.wait(30) == 1
    answers.wait_for("cancelled")


def test_a_broken_stream_ends_the_server(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert wire.process.wait(30) == 1


def test_shutdown_stops_what_is_under_way(start: Callable[..., Wire], answers: Answers) -> None:
    wire = start()
    wire.initialize()
    answers.write({"slow": {"text": "never", "wait": True}})
    wire.open(URI, "slow")
    number = wire.ask(INLINE, at(URI, 0, 4))
    answers.wait_for("infill")
    assert wire.shut_down() == 0
    assert wire.result(number) is None
    answers.wait_for("cancelled")


@pytest.mark.skipif(
    sys.platform == "win32", reason="a process that is gone is told apart by POSIX means here"
)
def test_the_parents_death_ends_the_server(start: Callable[..., Wire]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        wire = start()
        wire.initialize(processId=parent.pid)
        assert serves(wire)
        os.kill(parent.pid, signal.SIGKILL)
        assert wire.process.wait(30) == 1


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
    wire.open(URI, "x")
    wire.complete(URI, 0, 1)
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
    wire.open(URI, "x")
    wire.quiet()
    wire.quiet()
    wire.complete(URI, 0, 1)
    assert answers.log()[-1]["max_lines"] == 3
    section["maxLines"] = -1
    wire.notify("workspace/didChangeConfiguration", {"settings": None})
    assert "velospec.maxLines is -1" in wire.notification("window/showMessage")["message"]
    wire.open(URI, "xy")
    wire.complete(URI, 0, 2)
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
    assert wire.call("workspace/executeCommand", {"command": "velospec.why"}) == {
        "text": "The setting velospec.enabled is false."
    }
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


def test_typed_in_a_terminal_it_says_what_it_is() -> None:
    pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX")
    ours, theirs = pty.openpty()
    done = subprocess.run([installed_command()], stdin=theirs, capture_output=True, timeout=30, check=True)
    os.close(ours)
    os.close(theirs)
    assert done.stdout.decode().startswith(f"velospec-lsp {__version__}: ")
    assert b"velospec-lsp --stdio" in done.stdout
    assert done.stderr == b""


def test_version_help_and_usage() -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [installed_command(), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    assert run("--version") == (0, f"velospec-lsp {__version__}\n")
    assert "--stdio" in run("--help")[1]
    assert run("--nonsense")[0] == 2


def test_the_command_line_loads_no_server() -> None:
    script = (
        "import sys\nfrom velospec_lsp.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'pygls', 'lsprotocol', 'llama_cpp', 'torch', 'xgrammar', 'triton'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_the_server_loads_no_model_library() -> None:
    script = (
        "import sys\nimport velospec_lsp.run\n"
        "print(sorted({'llama_cpp', 'torch', 'xgrammar', 'triton', 'gguf', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_is_printed_goes_to_stderr(start: Callable[..., Wire]) -> None:
    script = (
        "import os, sys, velospec_lsp.handlers.commands as commands\n"
        "plain = commands._why\n"
        "def noisy(*arguments):\n"
        "    print('printed'); sys.stdout.flush(); os.write(1, b'written'); return plain(*arguments)\n"
        "commands._why = noisy\n"
        "from velospec_lsp.main import main; sys.exit(main(['--stdio']))"
    )
    wire = start(command=(sys.executable, "-c", script), arguments=())
    wire.initialize()
    assert "text" in wire.call("workspace/executeCommand", {"command": "velospec.why"})
    wire.close()
    assert b"printed" in wire.stderr
    assert b"written" in wire.stderr


def test_a_flood_of_messages_in_one_write(wire: Wire, answers: Answers) -> None:
    answers.write({"x" * 200: "done"})
    wire.open(URI, "")
    numbers = [wire.number() for _ in range(200)]
    data = b""
    for index, number in enumerate(numbers):
        data += frame(notification(CHANGE, change(URI, index + 2, (0, index, 0, index, "x"))))
        data += frame(request(number, INLINE, at(URI, 0, index + 1)))
    wire.write(data)
    results = [wire.result(number) for number in numbers]
    assert [item["insertText"] for item in results[-1]] == ["done"]
    assert all(result in (None, []) for result in results[:-1])
