"""`velospec run` in this process, against a home whose daemon answers what the prompt says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typer.testing import CliRunner

from tests.support.daemon_harness import short_home
from tests.support.gguf_files import write_gguf
from tests.support.scripted_daemon import COMMAND
from velospec.core.errors import VeloSpecError
from velospec.models.install import install
from velospec.models.store import ModelStore
from velospec_cli.app import app


@contextmanager
def scripted_home(chat: str) -> Iterator[Path]:
    """A home with the models of the scripted daemon, which runs there.

    `small` completes, `talker` talks by the template `chat`.
    """
    with short_home() as folder:
        store = ModelStore(folder / "data" / "models")
        install(str(write_gguf(folder / "small.gguf")), store=store, name="small")
        talker = write_gguf(folder / "talker.gguf", infill=False, chat=chat)
        install(str(talker), store=store, name="talker")
        environment = {**os.environ, "VELOSPEC_HOME": str(folder)}
        # No client is newer than this build, so none retires the daemon.
        daemon = subprocess.Popen([*COMMAND, "--build=9999.0"], env=environment, stdout=subprocess.PIPE)
        assert daemon.stdout
        assert b"ready" in daemon.stdout.readline()
        yield folder
        daemon.terminate()
        daemon.wait(20)
        daemon.stdout.close()


def run(home: Path, *arguments: str, typed: str = "") -> tuple[int, str, str]:
    """In this process; an error's cause and remedy are what was told, as `main` tells them."""
    result = CliRunner().invoke(
        app,
        ["run", *arguments],
        typed,
        env={"VELOSPEC_HOME": str(home), "COLUMNS": "100"},
        prog_name="velospec",
    )
    if isinstance(result.exception, VeloSpecError):
        return 1, result.stdout, f"{result.exception.cause} {result.exception.remedy}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
