"""Drives a real Neovim with an attached screen and real keys, over its own msgpack-rpc.

It knows nothing of the language server under test: what a test sees here is what a user would see.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil
import pynvim

if TYPE_CHECKING:
    from pynvim.api.nvim import Nvim

T = TypeVar("T")

_ROOT = Path(__file__).resolve().parents[2]
_SCREEN = """
local rows = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
  rows[row] = (table.concat(cells):gsub('%s+$', ''))
end
return rows
"""
_GHOST = """
local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
if not namespace then return '' end
local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
if not marks[1] then return '' end
local details, lines = marks[1][4], {}
local function text(chunks)
  return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks or {}))
end
lines[1] = text(details.virt_text)
for _, line in ipairs(details.virt_lines or {}) do lines[#lines + 1] = text(line) end
return table.concat(lines, '\\n')
"""


def install() -> Path:
    """The Neovim executable, installed into the checkout's cache if need be.

    Raises:
        RuntimeError: it cannot be had; the message says what is missing.
    """
    script = Path(__file__).with_name("get_neovim.sh")
    result = subprocess.run(
        [str(script), str(_ROOT / ".cache" / "neovim")],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    if result.returncode:
        raise RuntimeError(result.stderr)
    return Path(result.stdout.strip().splitlines()[-1])


class Neovim:
    """One running editor. `keys` types; `screen`, `ghost` and `lines` look."""

    def __init__(self, nvim: Nvim) -> None:
        self.nvim = nvim
        self._left = False

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def keys(self, keys: str) -> None:
        """Types `keys`, in Neovim's notation (`<CR>`, `<lt>` for a less-than sign)."""
        self.nvim.input(keys)

    def edit(self, path: Path) -> None:
        self.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))

    def screen(self) -> list[str]:
        """The screen's rows from the top, right ends trimmed."""
        self.nvim.command("redraw")
        return list(self.lua(_SCREEN))

    def ghost(self) -> str:
        """The ghost text on show, empty when there is none."""
        return str(self.lua(_GHOST))

    def lines(self) -> list[str]:
        return list(self.nvim.current.buffer[:])

    @property
    def cursor(self) -> tuple[int, int]:
        """Line from 1, column in bytes from 0."""
        row, column = self.nvim.current.window.cursor
        return int(row), int(column)

    def messages(self) -> str:
        return str(self.nvim.command_output("messages"))

    def wait(self, look: Callable[[], T], what: str, seconds: float = 60.0) -> T:
        """What `look` returns once it is true.

        Raises:
            TimeoutError: naming `what`, with the screen and the messages.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := look():
                return value
            time.sleep(0.02)
        rows = "\n".join(self.screen())
        raise TimeoutError(f"{what} did not come.\nscreen:\n{rows}\nmessages:\n{self.messages()}")

    def leave(self) -> None:
        """Quits as a user does, without saving; harmless when it has quit already."""
        if self._left:
            return
        self._left = True
        try:
            self.nvim.command("qall!")
        except (OSError, EOFError):
            pass  # the answer does not come: it has quit
        finally:
            self.nvim.close()

    def wait_for_server(self, name: str = "velospec") -> int:
        """The process id of the language server, once it is ready for this buffer."""
        ready = (
            "local c = vim.lsp.get_clients({ bufnr = 0, name = ... })[1] return c and c.initialized or false"
        )
        self.wait(lambda: bool(self.lua(ready, name)), f"the server {name}")
        children = self.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())")
        return int(children[0])


@contextmanager
def running(executable: Path, home: Path, environment: dict[str, str] | None = None) -> Iterator[Neovim]:
    """A Neovim without the user's configuration, its own folders under `home`; ended with the block."""
    overlay = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    overlay |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"} | (
        environment or {}
    )
    saved = {name: os.environ.get(name) for name in overlay}
    os.environ.update(overlay)
    try:
        argv = [str(executable), "--embed", "--headless", "--clean", "-n", "-i", "NONE"]
        nvim = pynvim.attach("child", argv=argv)
    finally:
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    editor = Neovim(nvim)
    try:
        nvim.ui_attach(90, 30, rgb=True)
        # An error in Lua must not leave a hit-enter prompt that blocks every later call.
        nvim.command("set messagesopt=wait:0,history:500")
        # The Python file type would otherwise probe for a Python with pynvim, which takes a second.
        nvim.vars["loaded_python3_provider"] = 0
        yield editor
    finally:
        editor.leave()


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def ended(pid: int, seconds: float = 10.0) -> bool:
    """Whether the process is gone, waiting up to `seconds` for it."""
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)
