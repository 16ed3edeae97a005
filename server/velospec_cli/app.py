"""The command line `velospec`: knows the names of its sub-commands, and loads only the one that is called.

Each sub-command lives in a file of its own. An error that VeloSpec raises on purpose ends the program with
its cause and its remedy, never with a traceback.
"""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from velospec import __version__
from velospec.core.errors import VeloSpecError


@dataclass(frozen=True, slots=True)
class _Part:
    """Where a sub-command is found: a typer app or a plain command function in a module."""

    module: str
    attribute: str
    summary: str


_PARTS = {
    "demo": _Part(
        "velospec_cli.demo", "demo", "Show completions of a sample project, and how fast they are."
    ),
    "run": _Part("velospec_cli.run", "run", "Answer a prompt, or complete at a cursor of a file."),
    "model": _Part("velospec_cli.model", "app", "Install, choose and remove models."),
    "editor": _Part("velospec_cli.editor", "app", "Show how to connect an editor."),
    "status": _Part("velospec_cli.status", "status", "Show what is installed and what is running."),
    "benchmark": _Part(
        "velospec_cli.benchmark.command", "benchmark", "Measure what drafts bring on this machine."
    ),
    "workspace": _Part(
        "velospec_cli.workspace", "app", "Look at what was learned of your workspaces, or have it forgotten."
    ),
    "kernels": _Part("velospec_cli.kernels", "app", "Compile the kernels for GPUs ahead of time."),
    "daemon": _Part("velospec_cli.daemon", "app", "Look after the process that holds the models."),
}

_HELP = """Private inline code completion for any LSP editor, from a model on your own machine.

- `velospec model install` fetches a model that suits this machine
- `velospec demo` shows it at work
- `velospec editor` tells how to connect an editor, which then starts `velospec-lsp --stdio` on its own
"""


class _LazyGroup(TyperGroup):
    """Lists the sub-commands by their summaries, and imports the one that was called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, placeholder, rest = super().resolve_command(ctx, args)
        return name, _load(name) if name in _PARTS else placeholder, rest


app = typer.Typer(
    cls=_LazyGroup,
    help=_HELP,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _load(name: str) -> Any:
    """Import the sub-command `name` and return it as typer's command object."""
    part = _PARTS[name]
    target = getattr(import_module(part.module), part.attribute)
    holder = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    holder.callback()(_placeholder)  # with a callback, typer makes a group even of a single command
    if isinstance(target, typer.Typer):
        holder.add_typer(target, name=name)
    else:
        holder.command(name)(target)
    group = typer.main.get_command(holder)
    return group.commands[name]  # type: ignore[attr-defined]  # typer types the group as a plain command


def _placeholder() -> None:
    """Stand for a sub-command in the list; `_LazyGroup` puts the real one in its place."""


for _name, _part in _PARTS.items():
    app.command(_name, help=_part.summary)(_placeholder)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands an option's value over by position
    if wanted:
        typer.echo(f"velospec {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _velospec(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> None:
    """Run `velospec`.

    Exits with 0, 1 (an error with a remedy), 2 (wrong usage), or 128 plus the number of a signal.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not where a test or a caller has put something else
            stream.reconfigure(errors="replace")  # a terminal without bullets and dashes gets question marks
    for name in ("SIGTERM", "SIGHUP"):  # end as by an interrupt: with what was begun cleared away
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, _end)
    try:
        app(prog_name="velospec")
    except OSError as error:
        if error.strerror is None:
            raise
        place = error.filename if error.filename is not None else "the output"
        typer.secho(f"velospec: {place} cannot be used ({error.strerror}).", err=True, fg="red")
        sys.exit(1)
    except VeloSpecError as error:
        typer.secho(f"velospec: {error.cause}", err=True, fg="red")
        if error.remedy:
            typer.echo(error.remedy, err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
