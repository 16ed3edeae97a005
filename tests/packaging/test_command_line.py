"""The command `velospec`: its help, its exit codes, and errors that name a remedy instead of a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.repository import clean_environment, command
from velospec import __version__
from velospec.core.errors import InstallError
from velospec_cli import app


def velospec(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command("velospec"), *arguments],
        cwd=folder,
        env={**clean_environment(), "VELOSPEC_HOME": str(folder / "home"), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_sub_command_with_its_summary(arguments: list[str], tmp_path: Path) -> None:
    result = velospec(*arguments, folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    for name, part in app._PARTS.items():
        assert name in result.stdout
        assert part.summary in result.stdout


@pytest.mark.parametrize("name", app._PARTS)
def test_each_sub_command_has_help_of_its_own(name: str, tmp_path: Path) -> None:
    result = velospec(name, "--help", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"velospec {name}" in result.stdout


@pytest.mark.parametrize("name", app._PARTS)
def test_the_summary_in_the_list_is_the_one_that_the_sub_command_gives(name: str) -> None:
    loaded = app._load(name)
    assert loaded.get_short_help_str(200).rstrip(".") == app._PARTS[name].summary.rstrip(".")


def test_the_version_is_told(tmp_path: Path) -> None:
    assert velospec("--version", folder=tmp_path).stdout == f"velospec {__version__}\n"


def test_a_mistyped_sub_command_is_answered_with_the_right_one(tmp_path: Path) -> None:
    result = velospec("modle", folder=tmp_path)
    assert result.returncode == 2
    assert "Did you mean 'model'?" in result.stderr


def test_a_wrong_option_is_wrong_usage(tmp_path: Path) -> None:
    assert velospec("--nope", folder=tmp_path).returncode == 2


def run_main(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> int | str | None:
    def fail() -> None:
        raise failure

    monkeypatch.setattr(app, "import_module", lambda _: type("Module", (), {"status": staticmethod(fail)}))
    monkeypatch.setattr(sys, "argv", ["velospec", "status"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    return ended.value.code


def test_an_error_ends_with_its_cause_and_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, InstallError("The disk is full.", "Free 200 MB and try again.")) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "velospec: The disk is full.\nFree 200 MB and try again.\n")


def test_an_interrupt_ends_with_the_status_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_main(monkeypatch, KeyboardInterrupt()) == 130


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (
            OSError(30, "Read-only file system", "/x/y"),
            "velospec: /x/y cannot be used (Read-only file system).\n",
        ),
        (
            OSError(28, "No space left on device"),
            "velospec: the output cannot be used (No space left on device).\n",
        ),
    ],
)
def test_what_the_system_refuses_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: OSError, told: str
) -> None:
    assert run_main(monkeypatch, failure) == 1
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize("arguments", [("--help",), ("model", "--help"), ("model", "list")])
def test_a_terminal_of_few_characters_is_enough(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = subprocess.run(
        [command("velospec"), *arguments],
        cwd=tmp_path,
        env={**clean_environment(), "VELOSPEC_HOME": str(tmp_path / "home"), "PYTHONIOENCODING": "ascii"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="a process ends without being asked there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_installation_and_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """The `pip` here says its process number and then waits, as for a slow network."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever started this run has it ignore the signal, and so all its children")
    fake = tmp_path / "modules" / "pip"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("")
    (fake / "__main__.py").write_text(
        "import os, time\nopen(os.environ['PID'], 'w').write(f'{os.getpid()}.')\ntime.sleep(100)\n"
    )
    told = tmp_path / "pid"
    home = tmp_path / "home"
    environment = {"VELOSPEC_HOME": str(home), "PYTHONPATH": str(fake.parent), "PID": str(told)}
    with subprocess.Popen(
        [command("velospec"), "model", "install", "smollm2-135m-fim"],
        env={**clean_environment(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        while not (told.exists() and told.read_text().endswith(".")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + number, output
    assert [file.name for file in (home / "data" / "models").iterdir()] == [".lock"]
    assert not psutil.pid_exists(int(told.read_text().rstrip(".")))


def test_a_home_that_is_no_folder_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    result = velospec("model", "install", "smollm2-135m-fim", folder=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith(f"velospec: {tmp_path / 'home'}")
    assert "VELOSPEC_HOME" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_fault_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        run_main(monkeypatch, ZeroDivisionError())


def test_runs_as_a_module_too() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "velospec_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"velospec {__version__}\n"
