"""A real Neovim with the module, and the steps that tests of the edit commands take in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.edit_samples import Sample
from tests.support.neovim import Neovim

_RUNTIME = Path(__file__).resolve().parents[2] / "server" / "velospec_lsp" / "nvim"
_SET_UP = """
vim.g.edits_done = 0
vim.api.nvim_create_autocmd('LspRequest', { callback = function(event)
  local request = event.data.request
  if request.type == 'complete' and request.method == 'workspace/executeCommand' then
    vim.g.edits_done = vim.g.edits_done + 1
  end
end })
vim.opt.runtimepath:append(...)
vim.cmd.runtime('plugin/velospec.lua')
require('velospec').setup()
"""


class Screen:
    """An editor with the module."""

    def __init__(self, editor: Neovim, folder: Path, patience: float = 60.0) -> None:
        """`patience` is how long a command may take, in seconds."""
        self.editor = editor
        self.folder = folder
        self.patience = patience
        editor.lua(_SET_UP, str(_RUNTIME))

    def open(self, sample: Sample) -> None:
        path = self.folder / sample.file
        path.write_bytes(sample.text.encode())
        self.editor.nvim.command("%bwipeout!")
        self.editor.edit(path)
        self.editor.wait_for_server()

    def text(self) -> str:
        """The buffer as it would be written."""
        end = "\r\n" if self.editor.lua("return vim.bo.fileformat") == "dos" else "\n"
        return "".join(line + end for line in self.editor.lines())

    @property
    def done(self) -> int:
        """How many commands of the server have ended."""
        return int(self.editor.lua("return vim.g.edits_done"))

    def run(self, command: str) -> None:
        """Runs `:VeloSpec ...` (with its range, if any) to its end."""
        before = self.done
        self.editor.nvim.command(command)
        self.editor.wait(lambda: self.done > before, f"the end of {command}", self.patience)

    def put_cursor(self, offset: int, text: str) -> None:
        """On the character before which `offset` characters of `text` lie."""
        head = text[:offset].replace("\r\n", "\n")
        line = head.rpartition("\n")[2]
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {...})", head.count("\n") + 1, len(line.encode()))

    def undo(self) -> None:
        self.editor.nvim.command("normal! u")


def edit(screen: Screen, sample: Sample) -> None:
    number = sample.text[: sample.text.index(sample.old)].count("\n") + 1
    screen.run(f"{number}VeloSpec edit Do what is asked")


def document(screen: Screen, sample: Sample) -> None:
    screen.put_cursor(sample.text.index(sample.old), sample.text)
    screen.run("VeloSpec docstring")


def rename(screen: Screen, sample: Sample) -> None:
    screen.put_cursor(sample.text.index(sample.at) + len(sample.at) - 1, sample.text)
    screen.run("VeloSpec rename-suggest")


COMMANDS: dict[str, Callable[[Screen, Sample], None]] = {
    "edit": edit,
    "docstring": document,
    "rename-suggest": rename,
}
