"""`velospec editor`: the link that makes Neovim find the module, and the texts that name real things."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import neovim as driver

VELOSPEC = Path(sys.executable).with_name("velospec")


def editor(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "PATH": "/usr/bin:/bin"}
    environment.pop("XDG_DATA_HOME", None)
    environment.pop("NVIM_APPNAME", None)
    return subprocess.run(
        [str(VELOSPEC), "editor", *arguments], env=environment, capture_output=True, text=True, check=False
    )


def link_of(home: Path) -> Path:
    return home / ".local/share/nvim/site/pack/velospec/start/velospec"


def test_prints_only_the_runtime_path(tmp_path: Path) -> None:
    result = editor("neovim", "--print-runtime-path", home=tmp_path)
    folder = Path(result.stdout.rstrip("\n"))
    assert (folder / "lua" / "velospec" / "init.lua").is_file()


def test_names_the_server_by_its_path_where_the_shell_does_not_find_it(tmp_path: Path) -> None:
    server = VELOSPEC.with_name("velospec-lsp")
    assert f"{server} --stdio" in editor("generic", home=tmp_path).stdout
    assert f"cmd = {{ '{server}', '--stdio' }}" in editor("neovim", home=tmp_path).stdout
    both = editor(home=tmp_path).stdout
    assert "Neovim 0.12" in both
    assert "Any editor" in both


def test_links_and_unlinks(tmp_path: Path) -> None:
    for _ in range(2):  # the second time the link is made anew
        assert editor("neovim", "--link", home=tmp_path).returncode == 0
        assert (link_of(tmp_path) / "plugin" / "velospec.lua").is_file()
    assert editor("neovim", "--unlink", home=tmp_path).returncode == 0
    assert not link_of(tmp_path).is_symlink()
    assert "There is no link" in editor("neovim", "--unlink", home=tmp_path).stdout


def test_leaves_alone_what_is_not_its_own(tmp_path: Path) -> None:
    link_of(tmp_path).mkdir(parents=True)
    result = editor("neovim", "--link", home=tmp_path)
    assert result.returncode == 1
    assert "is there already" in result.stderr
    assert link_of(tmp_path).is_dir()


def test_takes_one_wish_at_a_time(tmp_path: Path) -> None:
    assert editor("neovim", "--link", "--unlink", home=tmp_path).returncode == 2


@pytest.mark.editor
def test_neovim_finds_the_linked_module(neovim: Path, tmp_path: Path) -> None:
    assert editor("neovim", "--link", home=tmp_path).returncode == 0
    data = str(tmp_path / ".local" / "share")
    with driver.running(neovim, tmp_path / "home", {"XDG_DATA_HOME": data}) as nvim:
        # As a start without --clean does, which would also read the machine's own configuration.
        nvim.lua("vim.opt.packpath:append(...) vim.cmd.packloadall({ bang = true })", f"{data}/nvim/site")
        assert nvim.lua("return vim.fn.exists(':VeloSpec')") == 2
        assert nvim.lua("return require('velospec').setup()") is True
