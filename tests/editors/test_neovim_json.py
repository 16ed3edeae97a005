"""Completion in JSON files in the real Neovim with the real model: what is accepted keeps the document right.

The places are made and judged by `tests.support.json_positions`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import neovim as driver
from tests.support.json_positions import DOCUMENTS, SCHEMAS, Position, judged, positions
from tests.support.neovim import Neovim
from velospec.models.store import InstalledModel

pytestmark = [pytest.mark.editor, pytest.mark.model]

CACHE = Path(__file__).resolve().parents[2] / ".cache"
SETTINGS = {
    "budgetMs": 20_000,  # the text must not depend on how busy the machine is
    "manualBudgetMs": 20_000,
    "jsonSchemas": [{"path": "server.schema.json", "fileMatch": ["server.json"]}],
}
SET_UP = """
local settings = ...
vim.lsp.config('velospec', { cmd = { 'velospec-lsp', '--stdio' }, init_options = settings })
vim.lsp.enable('velospec')
vim.lsp.inline_completion.enable()
vim.keymap.set('i', '<Tab>', function()
  if not vim.lsp.inline_completion.get() then return '<Tab>' end
end, { expr = true })
vim.o.hidden = true
vim.cmd('autocmd FileType * setlocal indentexpr= noautoindent formatoptions=')
"""
WHY = """
local client = vim.lsp.get_clients({ bufnr = 0, name = 'velospec' })[1]
if not client then return '' end
local command = { command = 'velospec.why', arguments = { vim.uri_from_bufnr(0) } }
local reply = client:request_sync('workspace/executeCommand', command, 20000, vim.api.nvim_get_current_buf())
return reply and reply.result and vim.split(reply.result.text, '\\n')[1] or ''
"""
OFFERED = "Something was offered."
NOT_YET = ("", "the editor has not asked", "A newer request", "No open document")
_SHOWN_AT_LEAST = 0.7  # of the places; 0.88 where this was written


class Desk:
    """An editor whose daemon is its own, and the folder that each place gets one in."""

    def __init__(self, editor: Neovim, folder: Path) -> None:
        self._editor = editor
        self._folder = folder
        self._opened = 0
        editor.lua(SET_UP, SETTINGS)

    def accepted(self, position: Position) -> str | None:
        """The document after the offer at `position` was accepted; None where nothing is offered."""
        editor = self._editor
        self._opened += 1
        path = self._folder / str(self._opened) / position.file
        path.parent.mkdir()
        for name, schema in SCHEMAS.items():
            (path.parent / f"{name}.schema.json").write_text(json.dumps(schema), "utf-8")
        path.write_text(position.before + position.after, "utf-8")
        editor.keys("<Esc>")
        editor.edit(path)
        editor.wait_for_server()
        lines = position.before.split("\n")
        editor.lua("vim.api.nvim_win_set_cursor(0, { ... })", len(lines), len(lines[-1].encode()))
        at_end = not position.after.partition("\n")[0]
        editor.keys("A" if at_end else "i")
        why = editor.wait(self._why, f"an answer at {position}", 90)
        if why != OFFERED:
            return None
        editor.wait(editor.ghost, f"ghost text at {position}", 30)
        before = editor.lines()
        editor.keys("<Tab>")
        editor.wait(lambda: editor.lines() != before, "the accepted text", 10)
        text = "\n".join(editor.lines())
        return text + "\n" if (position.before + position.after).endswith("\n") else text

    def _why(self) -> str:
        text = str(self._editor.lua(WHY))
        return "" if any(part in text for part in NOT_YET if part) else text


@pytest.fixture(scope="module")
def home(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the installed models and a daemon of its own."""
    assert default_model.present
    home = tmp_path_factory.mktemp("velospec")
    for name in ("data", "cache"):
        (CACHE / "home" / name).mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(CACHE / "home" / name)
    yield home
    stop = [str(Path(sys.executable).with_name("velospec")), "daemon", "stop"]
    environment = {**os.environ, "VELOSPEC_HOME": str(home)}
    subprocess.run(stop, check=True, env=environment, capture_output=True, timeout=60)


@pytest.fixture
def desk(neovim: Path, home: Path, tmp_path: Path) -> Iterator[Desk]:
    with driver.running(neovim, tmp_path / "home", {"VELOSPEC_HOME": str(home)}) as editor:
        yield Desk(editor, tmp_path)


def check(desk: Desk, places: list[Position]) -> None:
    """Accept what is offered at each of `places`; all of it must be right, and most have one."""
    shown: Counter[str] = Counter()
    wrong = []
    for place in places:
        text = desk.accepted(place)
        if text is None:
            continue
        shown[place.kind] += 1
        assert text.startswith(place.before)
        assert text.endswith(place.after)
        item = text[len(place.before) : len(text) - len(place.after)]
        if problem := judged(place, item):
            wrong.append((place.file, place.kind, place.before[-30:], item, problem))
    sys.stdout.write(f"\noffered at {shown.total()} of {len(places)} places: {dict(shown)}\n")
    assert wrong == []
    assert shown.total() >= _SHOWN_AT_LEAST * len(places), shown


def hundred() -> list[Position]:
    chosen = random.Random(7)  # noqa: S311 - test data
    return chosen.sample(positions(7, 4), 100)


def test_what_is_accepted_is_valid_at_a_place_of_each_kind(
    desk: Desk,
) -> None:
    places = hundred()
    kinds = dict.fromkeys(place.kind for place in places)
    sample = [next(place for place in places if place.kind == kind) for kind in kinds]
    assert len(sample) >= 10
    check(desk, sample)


@pytest.mark.slow
def test_what_is_accepted_is_valid_at_a_hundred_places(
    desk: Desk,
) -> None:
    check(desk, hundred())


def test_the_untouched_documents_are_judged_valid() -> None:
    for file, (_, text) in DOCUMENTS.items():
        for cut in range(1, len(text), 7):
            assert judged(Position(file, "", text[:cut], text[cut:]), "") == ""
            truncated = judged(Position(file, "", text[:cut].rstrip(",\n\t "), ""), "")
            assert truncated == "" or "JSON" in truncated
