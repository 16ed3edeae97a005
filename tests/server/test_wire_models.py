"""The installed command and its models: none there, loading, a daemon that dies, the real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import SECONDS, WITH_INLINE, Wire, at
from velospec.models.store import InstalledModel

URI = "file:///project/example.py"
WITH_PROGRESS = {**WITH_INLINE, "window": {"workDoneProgress": True}}


# The recommendation depends on the machine; the smallest model is what these tests can have everywhere.
OFFERS_SMALLEST = (
    "import sys, velospec_lsp.model_offer as offer\n"
    "from velospec.models.catalogue import catalogue\n"
    "offer.recommended_entry = lambda: catalogue()['smollm2-135m-fim']\n"
    "from velospec_lsp.main import main; sys.exit(main(['--stdio']))"
)
SMALLEST: dict[str, Any] = {"command": (sys.executable, "-c", OFFERS_SMALLEST), "arguments": ()}


@pytest.fixture
def no_model(answers: Answers) -> Iterator[Answers]:
    answers.touch("no-model")
    refusal = answers.home / "data" / "no-model-offer"
    refusal.unlink(missing_ok=True)
    yield answers
    refusal.unlink(missing_ok=True)


def question(wire: Wire) -> dict[str, Any]:
    return wire.take(lambda it: it.get("method") == "window/showMessageRequest")


def answer(wire: Wire, asked: dict[str, Any], title: str | None) -> None:
    result = None if title is None else {"title": title}
    wire.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def test_without_a_model_one_question_is_asked_and_a_refusal_remembered(
    start: Callable[..., Wire], no_model: Answers
) -> None:
    wire = start(**SMALLEST)
    wire.initialize()
    wire.open(URI, "x")
    asked = question(wire)
    assert asked["params"]["message"] == (
        "VeloSpec has no model to complete with. Install SmolLM2 135M, infill (92 MB to download, 500 MB of "
        "memory, licence Apache-2.0)? It runs on this machine only. Others: velospec model install"
    )
    assert asked["params"]["actions"] == [{"title": "Install"}, {"title": "Don't ask again"}]
    assert wire.complete(URI, 0, 1) == []
    assert wire.notification("velospec/status") == {"kind": "inactive", "message": "No model is installed."}
    answer(wire, asked, "Don't ask again")
    refusal = no_model.home / "data" / "no-model-offer"
    until = time.monotonic() + 30
    while not refusal.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    wire.close()
    again = start()
    again.initialize()
    again.open(URI, "x")
    assert again.complete(URI, 0, 1) == []
    status = again.call("workspace/executeCommand", {"command": "velospec.status"})
    assert status["kind"] == "inactive"


def test_the_offer_can_be_switched_off(start: Callable[..., Wire], no_model: Answers) -> None:
    wire = start()
    wire.initialize(options={"offerModel": False})
    wire.open(URI, "x")
    assert wire.complete(URI, 0, 1) == []


def test_an_installation_that_fails_says_why(start: Callable[..., Wire], no_model: Answers) -> None:
    # No package index answers there, and no cache of an earlier download is used.
    environment = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_CACHE_DIR": "1", "PIP_RETRIES": "0"}
    wire = start(environment, **SMALLEST)
    wire.initialize()
    wire.open(URI, "x")
    answer(wire, question(wire), "Install")
    assert wire.notification("window/showMessage")["message"].startswith("VeloSpec: Installing ")
    told = wire.notification("window/showMessage", seconds=90)
    assert told["type"] == 1
    assert told["message"].startswith("VeloSpec: ")
    assert not list((no_model.home / "data" / "models").glob("*/manifest.json"))
    assert wire.complete(URI, 0, 1) == []


@pytest.mark.model
def test_the_offered_model_is_installed_with_progress(
    start: Callable[..., Wire], no_model: Answers, default_model: InstalledModel
) -> None:
    models = no_model.home / "data" / "models"
    if models.exists():
        models.rename(models.with_name("models-before"))
    models.parent.mkdir(exist_ok=True)
    models.symlink_to(default_model.folder.parent)  # so that nothing is left to download
    try:
        wire = start(**SMALLEST)
        wire.answers["window/workDoneProgress/create"] = lambda _params: None
        wire.initialize(WITH_PROGRESS)
        wire.open(URI, "x")
        asked = question(wire)
        (no_model.folder / "no-model").unlink()
        no_model.write({"x": "y"})
        answer(wire, asked, "Install")
        kinds = []
        while kinds[-1:] != ["end"]:
            kinds.append(wire.notification("$/progress")["value"]["kind"])
        assert kinds[0] == "begin"
        assert wire.notification("window/showMessage")["message"].endswith(" is installed.")
        assert [item["insertText"] for item in wire.complete(URI, 0, 1)] == ["y"]
    finally:
        models.unlink()


@pytest.fixture
def real(tmp_path: Path, default_model: InstalledModel) -> Iterator[Wire]:
    """A server with the default model in a home of its own."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models").symlink_to(default_model.folder.parent)
    environment = {"VELOSPEC_HOME": str(tmp_path)}
    wire = Wire(environment)
    yield wire
    wire.close()
    stop = [sys.executable, "-m", "velospec_cli", "daemon", "stop"]
    subprocess.run(stop, env={**os.environ, **environment}, check=True, capture_output=True)


def at_work(wire: Wire) -> bool:
    status = wire.call("workspace/executeCommand", {"command": "velospec.status"})
    return "busy" in [model["state"] for model in status["daemon"]["models"]]


FIBONACCI = "def fibonacci(n):\n    if n < 2:\n        return n\n    return fib"


@pytest.mark.model
def test_the_real_model_completes_and_comes_back_after_a_kill(real: Wire) -> None:
    real.answers["window/workDoneProgress/create"] = lambda _params: None
    real.initialize(WITH_PROGRESS, {"manualBudgetMs": 60_000})  # a busy machine must not matter
    real.open(URI, FIBONACCI)
    item = real.complete(URI, 3, 14, triggerKind=1)[0]
    assert item["insertText"] == "onacci(n - 1) + fibonacci(n - 2)"
    assert item["range"]["end"] == {"line": 3, "character": 14}

    status = real.call("workspace/executeCommand", {"command": "velospec.status"})
    real.open(URI, "import os\n" * 300 + FIBONACCI)
    number = real.ask("textDocument/inlineCompletion", at(URI, 303, 14, triggerKind=1))
    until = time.monotonic() + SECONDS
    while not at_work(real):
        assert time.monotonic() < until
    os.kill(status["daemon"]["pid"], signal.SIGKILL)
    assert real.result(number) == []
    assert "memory ran out" in real.notification("window/showMessage")["message"]
    other = "file:///project/other.py"
    real.open(other, FIBONACCI + "o")
    until = time.monotonic() + SECONDS
    while not (items := real.complete(other, 3, 15, triggerKind=1)):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert items[0]["insertText"].startswith("nacci(")
    real.unread = [it for it in real.unread if it.get("method") != "$/progress"]
