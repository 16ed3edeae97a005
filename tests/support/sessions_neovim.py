"""Replays an editing session in the real Neovim, by its keys and what is on its screen."""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.neovim import Neovim
from tests.support.repository import ROOT
from tests.support.sessions import Event, Session
from tests.support.sessions_editor import common_start

_RUNTIME = ROOT / "server" / "velospec_lsp" / "nvim"
_SET_UP = """
vim.opt.runtimepath:append(...)
require('velospec').setup()
vim.o.hidden = true
vim.cmd('autocmd FileType * setlocal indentexpr= nocindent nosmartindent noautoindent formatoptions=')
vim.cmd('autocmd FileType * setlocal noexpandtab tabstop=4 softtabstop=0')
"""
_PAIRS = """
for _, pair in ipairs({ '()', '[]', '{}' }) do
  local opener, closer = pair:sub(1, 1), pair:sub(2)
  vim.keymap.set('i', opener, opener .. closer .. '<C-g>U<Left>', { buffer = true })
  vim.keymap.set('i', closer, function()
    local column = vim.fn.col('.')
    return vim.fn.getline('.'):sub(column, column) == closer and '<C-g>U<Right>' or closer
  end, { expr = true, buffer = true })
end
"""
_ACCEPT = {"all": "<Tab>", "word": "<M-Right>", "line": "<M-C-Right>"}
_SECONDS = 20.0


def as_keys(text: str) -> str:
    """`text` in Neovim's notation. Its tabs are typed as such, since the key accepts."""
    return text.replace("<", "<lt>").replace("\n", "<CR>").replace("\t", "<C-v><Tab>")


class Screen:
    """An editor with the module set up, in which one session after the other is replayed."""

    def __init__(self, editor: Neovim, folder: Path) -> None:
        self.editor = editor
        self._folder = folder
        editor.lua(_SET_UP, str(_RUNTIME))

    def open(self, session: Session) -> None:
        """Write the files of `session` and open the first one, its cursor in place, in insert mode."""
        self.editor.keys("<Esc>")
        self.editor.nvim.command("silent! %bwipeout!")
        folder = self._folder / session.name
        folder.mkdir()
        for name, file in session.files.items():
            text = file.text.replace("\n", "\r\n") if file.crlf else file.text
            (folder / name).write_bytes(text.encode())
        for name in reversed(session.files):
            self.editor.edit(folder / name)
            if session.pairs:
                self.editor.lua(_PAIRS)
        self.editor.wait_for_server()
        self._insert(*next(iter(session.files.values())).cursor)

    def replay(self, session: Session) -> None:
        """All of it; fails where something else is shown, or is in a buffer in the end."""
        self.open(session)
        for event in session.events:
            self._do(event, session)
            if event.shows is not None:
                what = f"the ghost text {event.shows!r} after {event.action} {event.argument!r}"
                self.editor.wait(partial(self.shows, event.shows), what, _SECONDS)
        for name, file in session.files.items():
            self.editor.wait(partial(self.has, name, file.final), f"{file.final!r} in {name}", 5)
            assert self.server_text(name) == (file.final.replace("\n", "\r\n") if file.crlf else file.final)

    def shows(self, rest: str) -> bool:
        """Whether `rest` is shown. Neovim leaves out what the text behind the cursor begins with, too."""
        row, column = self.editor.cursor
        behind = self.editor.lines()[row - 1].encode()[column:].decode()
        there = rest[: common_start(behind, rest)]
        ghost = re.sub(r" \(\d+/\d+\)\Z", "", self.editor.ghost())  # the number of the choice
        return ghost in (rest, rest.removeprefix(there)) if rest else not ghost

    def pause(self, ms: float) -> None:
        """What happens meanwhile in the editor goes on."""
        self.editor.lua("vim.wait(...)", round(ms))

    def type(self, text: str, pace: int | random.Random) -> None:
        """Key by key, `pace` milliseconds apart, or 50 to 300 of them as chance has it."""
        for char in text:
            self.editor.keys(as_keys(char))
            self.pause(pace if isinstance(pace, int) else pace.uniform(50, 300))

    def text(self, name: str) -> str:
        """A buffer as it would be written, but with LF."""
        lines = self.editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)", name)
        return "".join(f"{line}\n" for line in lines)

    def has(self, name: str, text: str) -> bool:
        return self.text(name) == text

    def server_text(self, name: str) -> str:
        """The server's copy of it."""
        code = """
        local buffer = vim.fn.bufnr(...)
        local client = vim.lsp.get_clients({ bufnr = buffer, name = 'velospec' })[1]
        local params = { uri = vim.uri_from_bufnr(buffer) }
        return assert(client:request_sync('velospec/text', params, 10000, buffer)).result
        """
        return str(self.editor.lua(code, name))

    def _do(self, event: Event, session: Session) -> None:
        argument: Any = event.argument
        if event.action == "type":
            self.editor.keys("<C-g>u")  # so that an undo takes back no more than it does elsewhere
            self.type(argument, session.pace)
        elif event.action == "paste":
            self.editor.keys("<C-g>u")
            self.editor.lua("vim.api.nvim_paste(..., false, -1)", argument)
        elif event.action == "delete":
            for _ in range(argument):
                self.editor.keys("<BS>")
                self.pause(session.pace)
        elif event.action == "accept":
            self.editor.keys(_ACCEPT[argument])
        elif event.action == "undo":
            self.editor.keys("<C-o>u")
        elif event.action == "save":
            self.editor.nvim.command("silent write")
        elif event.action == "move":
            self._insert(*argument)
        elif event.action == "switch":
            name, line, character = argument
            self.editor.keys("<Esc>")
            self.editor.nvim.command(f"buffer {name}")
            self._insert(line, character)
        else:
            raise AssertionError(f"Neovim cannot {event.action}")

    def _insert(self, line: int, character: int) -> None:
        """Insert mode at a place, `character` counting characters."""
        self.editor.keys("<Esc>")
        text = self.editor.lines()[line]
        column = len(text[:character].encode())
        self.editor.lua("vim.api.nvim_win_set_cursor(0, { ... })", line + 1, column)
        self.editor.keys("A" if character == len(text) else "i")
