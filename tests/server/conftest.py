"""A daemon with written answers, and language servers of the installed command that find it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import edit_desk
from tests.support.answering_daemon import PROGRAM
from tests.support.edit_desk import Desk
from tests.support.edit_wire import EDITING
from tests.support.wire import Wire


class Answers:
    """What the daemon will answer, and what it was asked."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "answers"
        self.folder.mkdir(parents=True)
        self.clear()

    def clear(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()
        self.set()

    def set(self, **answers: str | dict[str, Any]) -> None:
        self.write(answers)

    def write(self, answers: dict[str, Any]) -> None:
        """By the end of the prefix: a text, or an object as the daemon's module describes."""
        full = {
            end: {"text": answer} if isinstance(answer, str) else answer for end, answer in answers.items()
        }
        self.touch("answers.json", json.dumps(full))

    def touch(self, name: str, text: str = "") -> None:
        draft = self.folder / f".{name}"
        draft.write_text(text, "utf-8")
        draft.replace(self.folder / name)

    def log(self, event: str = "infill") -> list[dict[str, Any]]:
        file = self.folder / "log.jsonl"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def wait_for(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """The log's entries of one kind, once there are `count` of them."""
        until = time.monotonic() + 30
        while len(entries := self.log(event)) < count:
            assert time.monotonic() < until, f"the daemon logged no {event}"
            time.sleep(0.005)
        return entries


@pytest.fixture(scope="session")
def answering_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    answers = Answers(tmp_path_factory.mktemp("home"))
    environment = {
        **os.environ,
        "VELOSPEC_HOME": str(answers.home),
        "VELOSPEC_ANSWERS": str(answers.folder),
    }
    # No client is newer than this build, so none retires the daemon when a source file changes meanwhile.
    command = [sys.executable, PROGRAM, "--build=9999.0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert process.stdout
    assert b"ready" in process.stdout.readline()
    yield answers
    process.terminate()
    process.wait(20)
    process.stdout.close()


@pytest.fixture
def answers(answering_daemon: Answers) -> Answers:
    answering_daemon.clear()
    return answering_daemon


@pytest.fixture
def start(answers: Answers) -> Iterator[Callable[..., Wire]]:
    """Starts servers; each is ended and checked when the test is over."""
    wires: list[Wire] = []

    def start(environment: dict[str, str] | None = None, **options: Any) -> Wire:
        wires.append(Wire({"VELOSPEC_HOME": str(answers.home), **(environment or {})}, **options))
        return wires[-1]

    yield start
    for wire in wires:
        wire.close()


@pytest.fixture(scope="module")
def shared_wire(answering_daemon: Answers) -> Iterator[Wire]:
    wire = Wire({"VELOSPEC_HOME": str(answering_daemon.home)})
    wire.initialize()
    yield wire
    wire.close()


@pytest.fixture
def wire(answers: Answers, shared_wire: Wire) -> Iterator[Wire]:
    """An initialized server of a client with inline completion, shared by the tests of a file."""
    yield shared_wire
    shared_wire.close_documents()


@pytest.fixture(scope="session")
def edit_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with edit_desk.running(tmp_path_factory.mktemp("home")) as desk:
        yield desk


@pytest.fixture
def desk(edit_home: Desk) -> Desk:
    edit_home.clear()
    return edit_home


@pytest.fixture(scope="module")
def shared_editor(edit_home: Desk) -> Iterator[Wire]:
    wire = Wire(edit_home.environment)
    wire.answers["window/workDoneProgress/create"] = lambda _params: None
    wire.initialize(EDITING)
    yield wire
    wire.close()


@pytest.fixture
def editor(shared_editor: Wire, desk: Desk) -> Iterator[Wire]:
    yield shared_editor
    shared_editor.quiet()
    shared_editor.unread = [it for it in shared_editor.unread if it.get("method") != "$/progress"]
    shared_editor.close_documents()
