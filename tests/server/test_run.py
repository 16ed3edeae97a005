"""`velospec run`: the installed command with a daemon whose answers are scripted, and with the real model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.run_command import run, scripted_home
from velospec.models.store import InstalledModel

VELOSPEC = Path(sys.executable).with_name("velospec")
HELLO = "say hello"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with scripted_home(chat="{{ messages[0].content }}") as folder:
        yield folder


@contextmanager
def long_answer(home: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The installed command at the beginning of an answer that goes on for many seconds."""
    question = folder / "question"
    question.write_text("say " + "waiting " * 20_000, "utf-8")
    environment = {**os.environ, "VELOSPEC_HOME": str(home)}
    command = [str(VELOSPEC), "run", "--prompt", "-"]
    with (
        question.open(encoding="utf-8") as stdin,
        subprocess.Popen(
            command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout
        assert process.stdout.read(8) == "waiting "
        yield process


def test_answers_by_the_chat_model_and_its_template(home: Path) -> None:
    assert run(home, "--prompt", HELLO) == (0, "hello\n", "")


def test_reads_the_prompt_from_standard_input(home: Path) -> None:
    assert run(home, "--prompt", "-", typed="say täglich ☕") == (0, "täglich ☕\n", "")


def test_raw_needs_no_template(home: Path) -> None:
    assert run(home, "--raw", "--model", "small", "--prompt", HELLO) == (0, "hello\n", "")
    code, shown, told = run(home, "--model", "small", "--prompt", HELLO)
    assert (code, shown) == (1, "")
    assert "tiny has no chat template." in told
    assert "--raw" in told


@pytest.mark.parametrize(
    ("place", "before"),
    [
        (("--line", "2", "--column", "8"), "one\nsay two"),
        (("--line", "2"), "one\nsay two more"),
        (("--line", "3"), "one\nsay two more\n"),
        (("--line", "1", "--column", "6"), "o"),
    ],
)
def test_completes_at_a_cursor_of_a_file(
    home: Path, tmp_path: Path, place: tuple[str, ...], before: str
) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"say one\r\nsay two more\r\n")
    code, shown, told = run(home, "--file", str(file), *place)
    assert (code, shown.removesuffix("\n"), told) == (0, before.removesuffix("\n"), "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--file", "{file}", "--line", "9"), "has no line 9. Its lines are 1 to 2"),
        (("--file", "{file}", "--line", "1", "--column", "9"), "has no column 9. Its columns are 1 to 8"),
        (("--file", "{file}.none", "--line", "1"), "cannot be read: No such file or directory."),
        (("--file", "{binary}", "--line", "1"), "is not text in UTF-8."),
        (("--prompt", "x", "--model", "none"), 'No model "none" is installed.'),
        (("--prompt", "x", "--temperature", "-1"), "Sampling.temperature should be a number"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(
    home: Path, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    places = {"file": tmp_path / "a.py", "binary": tmp_path / "b.png"}
    places["file"].write_text("say one\n", "utf-8")
    places["binary"].write_bytes(b"\x89PNG\xff")
    code, shown, failure = run(home, *(each.format(**places) for each in arguments))
    assert (code, shown) == (1, "")
    assert told in " ".join(failure.split())


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--prompt", "x", "--file", "a.py", "--line", "1"),
        ("--file", "a.py"),
        ("--prompt", "x", "--line", "1"),
        ("--file", "a.py", "--line", "1", "--raw"),
        ("--file", "a.py", "--line", "0"),
        ("--prompt", "x", "--max-tokens", "0"),
    ],
)
def test_options_that_do_not_fit_together_are_wrong_usage(home: Path, arguments: tuple[str, ...]) -> None:
    code, shown, told = run(home, *arguments)
    assert (code, shown) == (2, "")
    assert "Usage: velospec run" in told


def test_without_a_chat_model_it_says_which_to_install(tmp_path: Path) -> None:
    code, shown, told = run(tmp_path, "--prompt", "Hi")
    assert (code, shown) == (1, "")
    assert "No model for chat is installed." in told
    assert "velospec model install smollm2-135m-instruct" in told


def test_json_has_the_exact_text_and_all_statistics(home: Path) -> None:
    code, shown, told = run(home, "--json", "--stats", "--prompt", HELLO)
    answer = json.loads(shown)
    assert code == 0
    assert (answer["model"], answer["text"], answer["finish"]) == ("talker", "hello", "end")
    assert answer["token_ids"] == [0, 1, 2, 3, 4]
    assert (answer["statistics"]["steps"], answer["statistics"]["proposers"]) == (4, {})
    assert "8 tokens in 4 steps, 2.00 a step, 16.0 tokens/s." in told


def test_the_text_is_shown_as_it_comes_and_an_interrupt_ends_it(home: Path, tmp_path: Path) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("whoever started this run has it ignore the signal, and so all its children")
    with long_answer(home, tmp_path) as process:
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate(timeout=60)
        assert process.returncode == 130
        assert shown.endswith("\n")
        assert len(shown) < 8 * 20_000 - 8
        assert "Traceback" not in told


def test_a_reader_that_leaves_ends_it_quietly(home: Path, tmp_path: Path) -> None:
    with long_answer(home, tmp_path) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 1


def answer(home: Path, *arguments: str) -> dict[str, Any]:
    code, shown, told = run(home, *arguments)
    assert (code, told) == (0, "")
    value: dict[str, Any] = json.loads(shown)
    return value


@pytest.mark.model
def test_the_real_model_writes_the_same_with_drafts_and_without(
    default_model: InstalledModel, tmp_path: Path
) -> None:
    home = Path(os.environ["VELOSPEC_HOME"])
    common = ("--raw", "--json", "--model", default_model.name, "--max-tokens", "48", "--prompt")
    prompt = (
        "def add(a, b):\n    return a + b\n\ndef subtract(a, b):\n    return a - b\n\ndef multiply(a, b):"
    )
    drafted = answer(home, *common, prompt)
    plain = answer(home, "--no-drafts", *common, prompt)
    assert drafted["text"].startswith("\n    return a * b\n")
    assert (drafted["text"], drafted["token_ids"]) == (plain["text"], plain["token_ids"])
    assert drafted["statistics"]["drafted_tokens"] > 0
    assert plain["statistics"]["drafted_tokens"] == 0


@pytest.mark.model
def test_the_real_model_answers_and_completes(default_model: InstalledModel, tmp_path: Path) -> None:
    home = Path(os.environ["VELOSPEC_HOME"])
    file = tmp_path / "area.py"
    file.write_text("def area(width, height):\n    return width\n\nprint(area(2, 3))\n", "utf-8")
    code, shown, told = run(home, "--stats", "--file", str(file), "--line", "2", "--max-tokens", "3")
    assert (code, shown) == (0, " * height\n")
    assert "3 tokens in" in told
    question = ("--model", default_model.name, "--prompt", "Hi", "--max-tokens", "2", "--json")
    # Each of the template's five control tokens is one token, not the letters that it is written in.
    assert answer(home, *question)["statistics"]["prompt_tokens"] == 31
