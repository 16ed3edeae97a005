"""`velospec editor`: how to connect an editor, and the Neovim module put where Neovim finds it."""

from __future__ import annotations

import os
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from velospec.core.errors import VeloSpecError

app = typer.Typer(help="Show how to connect an editor.", no_args_is_help=False)

_NEOVIM = """Neovim 0.12 or later, in init.lua:

    vim.lsp.config('velospec', {{ cmd = {{ '{server}', '--stdio' }}, root_markers = {{ '.git' }} }})
    vim.lsp.enable('velospec')
    vim.lsp.inline_completion.enable()
    vim.keymap.set('i', '<Tab>', function()
      if not vim.lsp.inline_completion.get() then
        return '<Tab>'
      end
    end, {{ expr = true, desc = 'Accept the completion' }})

or with the module, which adds keys for the next word and line, a status line and :VeloSpec:

    velospec editor neovim --link       (once; Neovim then finds it as a package)
    require('velospec').setup()         (in init.lua)

The module lies in {runtime}
"""

_GENERIC = """Any editor with a language client: start this command for every file type, no arguments but one:

    {server} --stdio

With textDocument/inlineCompletion (LSP 3.18) completions appear as ghost text; without it they appear in the
completion menu. Settings go into initializationOptions or the section "velospec" of the configuration.
"""


def runtime_path() -> Path:
    """The folder to add to Neovim's 'runtimepath'. Raises VeloSpecError where it is not on the disk."""
    folder = Path(str(files("velospec_lsp") / "nvim"))
    if not folder.is_dir():
        raise VeloSpecError(
            "The Neovim module is not there.", "Install VeloSpec again, from a wheel or a folder."
        )
    return folder


def package_link() -> Path:
    """Where Neovim looks for packages that start with it, for this user and this NVIM_APPNAME."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    app_name = os.environ.get("NVIM_APPNAME") or "nvim"
    return Path(data) / app_name / "site" / "pack" / "velospec" / "start" / "velospec"


def how_to_connect() -> str:
    """Two lines on how to go on, for the end of the demo."""
    return (
        "To use it in Neovim 0.12: velospec editor neovim\n"
        f"In any other editor with a language client: {_server()} --stdio"
    )


def _server() -> str:
    """The server's command: its name where the shell finds it, else its path."""
    if shutil.which("velospec-lsp"):
        return "velospec-lsp"
    from velospec_cli.demo_client import server_command  # noqa: PLC0415  # loads the protocol library

    return server_command()[0]


@app.callback(invoke_without_command=True)
def _editor(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(_NEOVIM.format(server=_server(), runtime=runtime_path()))
        typer.echo(_GENERIC.format(server=_server()))


@app.command()
def generic() -> None:
    """Show what any editor with a language client needs."""
    typer.echo(_GENERIC.format(server=_server()))


@app.command()
def neovim(
    *,
    print_runtime_path: Annotated[
        bool, typer.Option("--print-runtime-path", help="Print only the folder for 'runtimepath'.")
    ] = False,
    link: Annotated[bool, typer.Option("--link", help="Link the module into Neovim's packages.")] = False,
    unlink: Annotated[bool, typer.Option("--unlink", help="Take that link away.")] = False,
) -> None:
    """Show what Neovim needs, or put the module where Neovim finds it."""
    if sum((print_runtime_path, link, unlink)) > 1:
        raise typer.BadParameter("Give only one of --print-runtime-path, --link and --unlink.")
    if print_runtime_path:
        typer.echo(runtime_path())
    elif link:
        _link(runtime_path(), package_link())
    elif unlink:
        _unlink(package_link())
    else:
        typer.echo(_NEOVIM.format(server=_server(), runtime=runtime_path()))


def _link(target: Path, place: Path) -> None:
    if place.exists() and not place.is_symlink():
        raise VeloSpecError(f"{place} is there already, and no link of ours.", "Move it away first.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target, target_is_directory=True)
    except OSError as error:
        raise VeloSpecError(f"The link cannot be made: {error}", "See the rights of that folder.") from error
    server = _server()
    options = "" if server == "velospec-lsp" else f"{{ cmd = {{ '{server}', '--stdio' }} }}"
    typer.echo(f"{place} -> {target}\nAdd to init.lua: require('velospec').setup({options})")


def _unlink(place: Path) -> None:
    if not place.is_symlink():
        typer.echo(f"There is no link at {place}.")
        return
    place.unlink()
    typer.echo(f"{place} is gone.")
