"""The edit commands in the real Neovim with the real chat model: whatever it answers, the file stays whole.

A model of this size often has nothing to say; then nothing changes, and a message says why.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import neovim as driver
from tests.support.edit_samples import SAMPLES, Sample
from tests.support.edit_screen import COMMANDS, Screen
from velospec.daemon.running import stop_daemons
from velospec.models.store import InstalledModel
from velospec_lsp.syntax import Syntax, breaks

pytestmark = [pytest.mark.editor, pytest.mark.model]

FEW = ("total.py", "queue.ts")


@pytest.fixture(scope="module")
def screen(
    neovim: Path, chat_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Screen]:
    """An editor whose daemon has the chat model in memory, with its own home."""
    home = tmp_path_factory.mktemp("home")
    (home / "data").mkdir()
    (home / "data" / "models").symlink_to(chat_model.folder.parent)
    environment = {"VELOSPEC_HOME": str(home)}
    folder = tmp_path_factory.mktemp("screen")
    with driver.running(neovim, folder / "home", environment) as editor:
        yield Screen(editor, folder, patience=240.0)  # the first loads the model
    before = os.environ["VELOSPEC_HOME"]
    os.environ["VELOSPEC_HOME"] = str(home)
    try:
        asyncio.run(stop_daemons())
    finally:
        os.environ["VELOSPEC_HOME"] = before


def check(screen: Screen, sample: Sample, command: str) -> bool:
    """Runs one command; whether it changed the file."""
    screen.open(sample)
    screen.editor.nvim.command("messages clear")
    COMMANDS[command](screen, sample)
    text = screen.text()
    if text == sample.text:
        assert "VeloSpec" in screen.editor.messages()
        return False
    before = Syntax(sample.language, sample.text.replace("\r\n", "\n"))
    assert not breaks(before, sample.language, text.replace("\r\n", "\n"))
    screen.undo()
    assert screen.text() == sample.text
    return True


@pytest.mark.parametrize("file", FEW)
def test_a_few(screen: Screen, file: str) -> None:
    sample = next(each for each in SAMPLES if each.file == file)
    changed = [command for command in COMMANDS if check(screen, sample, command)]
    assert "docstring" in changed


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_all(screen: Screen, command: str) -> None:
    changed = [sample.file for sample in SAMPLES if check(screen, sample, command)]
    # An edit of one line is often too much for this model; documentation never is.
    least = {"edit": 0, "docstring": len(SAMPLES), "rename-suggest": len(SAMPLES) // 2}[command]
    assert len(changed) >= least, changed
