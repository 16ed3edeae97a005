"""The README's Neovim block, as it stands there, in the real Neovim with the real default model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support import neovim as driver
from tests.support.neovim import Neovim
from velospec.models.store import InstalledModel

pytestmark = [pytest.mark.editor, pytest.mark.model]

ROOT = Path(__file__).resolve().parents[2]
STOCK = ROOT / "server" / "velospec_cli" / "demo_project" / "inventory" / "stock.py"
TYPED = """
    def find(self, name: str) -> Item | None:
        \"\"\"The item of that name.\"\"\"
        for item in"""


def readme_block() -> str:
    readme = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```lua\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def test_the_editors_page_has_the_same_block() -> None:
    assert f"```lua\n{readme_block()}```" in (ROOT / "docs" / "editors.md").read_text("utf-8")


def as_keys(text: str) -> str:
    """`text` as a user types it into a buffer without automatic indentation."""
    return text.replace("<", "<lt>").replace("\n", "<CR>")


@pytest.fixture
def editor(neovim: Path, default_model: InstalledModel, tmp_path: Path) -> Iterator[Neovim]:
    assert default_model.present
    with driver.running(neovim, tmp_path / "home") as editor:
        editor.nvim.command("set expandtab | autocmd FileType * setlocal indentexpr= noautoindent")
        editor.lua(readme_block())
        yield editor


def server_text(editor: Neovim) -> str:
    code = """
    local client = vim.lsp.get_clients({ bufnr = 0, name = 'velospec' })[1]
    local params = { uri = vim.uri_from_bufnr(0) }
    -- Not buffer 0: with it, Neovim does not send the changes that it still holds back.
    local buffer = vim.api.nvim_get_current_buf()
    local reply = assert(client:request_sync('velospec/text', params, 10000, buffer))
    return reply.result
    """
    return str(editor.lua(code))


def buffer_text(editor: Neovim) -> str:
    return "\n".join(editor.lines()) + "\n"


def offered(editor: Neovim, beginning: str = "") -> str:
    """The ghost text, which begins with `beginning`.

    On a slow machine the first prompt runs out of time, with nothing to show or with the first words of the
    answer; <Esc>a asks again, and what was read is not read again.
    """
    seen = None
    for _ in range(12):
        try:
            seen = editor.wait(editor.ghost, "ghost text", 8)
        except TimeoutError:
            seen = None
        if seen is not None and seen.startswith(beginning):
            return seen
        editor.keys("<Esc>a")
    raise AssertionError(f"no ghost text that begins with {beginning!r}; the last was {seen!r}")


def open_stock(editor: Neovim, folder: Path) -> None:
    """The sample project's stock list, cursor after the class's last method."""
    path = folder / "stock.py"
    path.write_text(STOCK.read_text("utf-8"), encoding="utf-8")
    editor.edit(path)
    editor.wait_for_server()
    editor.keys("/item.on_hand <lt> limit<CR>")


def test_shows_and_accepts_a_completion_of_the_model(editor: Neovim, tmp_path: Path) -> None:
    open_stock(editor, tmp_path)
    editor.keys("o" + as_keys(TYPED))
    ghost = offered(editor, " self.items")
    row, column = editor.cursor
    before = editor.lines()
    on_screen = next(line for line in editor.screen() if line.startswith("        for item in self.items"))
    first, *rest = ghost.split("\n")
    assert on_screen == f"        for item in{first}"

    editor.keys("<Tab>")
    expected = [*before[: row - 1], before[row - 1] + first, *rest, *before[row:]]
    editor.wait(lambda: editor.lines() == expected, "the accepted text", 10)
    assert editor.cursor == (row + len(rest), len(rest[-1]) if rest else column + len(first.encode()))
    assert server_text(editor) == buffer_text(editor)
    editor.keys("<Esc>")
    editor.wait(lambda: editor.ghost() == "", "an empty screen after <Esc>", 10)


def test_counts_bytes_and_characters_apart(editor: Neovim, tmp_path: Path) -> None:
    open_stock(editor, tmp_path)
    typed = TYPED.replace("The item of that name.", "Größe: 😋 żółć.")
    editor.keys("o" + as_keys(typed))
    ghost = offered(editor)
    editor.keys("<Tab>")
    accepted = f"{typed}{ghost}\n"
    editor.wait(lambda: accepted in buffer_text(editor), "the accepted text", 10)
    editor.keys('  # "😋é" ')
    editor.wait(lambda: "😋é" in editor.lines()[editor.cursor[0] - 1], "the typed text", 10)
    assert server_text(editor) == buffer_text(editor)


def test_keeps_up_with_a_quick_typist(editor: Neovim, tmp_path: Path) -> None:
    """Keys 30 ms apart, through the answers that come meanwhile; what counts is the last text."""
    open_stock(editor, tmp_path)
    editor.keys("o" + as_keys(TYPED.rpartition("\n")[0]) + "<CR>")
    line = TYPED.rpartition("\n")[2]
    for key in line:
        editor.keys(as_keys(key))
        editor.lua("vim.wait(30)")
    editor.wait(lambda: editor.lines()[editor.cursor[0] - 1] == line, "the typed line", 10)
    ghost = offered(editor)
    editor.keys("<Tab>")
    editor.wait(lambda: f"\n{line}{ghost}\n" in buffer_text(editor), "the accepted text", 10)
    assert server_text(editor) == buffer_text(editor)


def test_leaves_no_process(editor: Neovim, tmp_path: Path) -> None:
    open_stock(editor, tmp_path)
    pid = editor.wait_for_server()
    assert "velospec-lsp" in " ".join(psutil.Process(pid).cmdline())
    editor.leave()
    assert driver.ended(pid)


@pytest.fixture(scope="module", autouse=True)
def daemon() -> Iterator[None]:
    """The daemon that the servers start outlives them by design; it goes with these tests."""
    yield
    stop = [str(Path(sys.executable).with_name("velospec")), "daemon", "stop"]
    subprocess.run(stop, check=True, env=os.environ, capture_output=True, timeout=60)
