"""The installed command as a process: what it prints, what it loads, and every way to end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.server.conftest import Answers
from tests.support.wire import Wire, at, installed_command
from velospec import __version__
from velospec_lsp.lifetime import watch_parent

URI = "file:///project/example.py"
INLINE = "textDocument/inlineCompletion"


def serves(wire: Wire) -> bool:
    wire.open(URI, "x")
    return wire.complete(URI, 0, 1) == []


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


def test_a_number_that_is_no_process_is_not_watched() -> None:
    died: list[bool] = []
    for number in (-5, 2**31 - 1):
        asyncio.run(watch_parent(number, lambda: died.append(True)))
    assert died == []


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
