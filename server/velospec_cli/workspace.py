"""`velospec workspace`: what was learned of your workspaces: look at it, take it with you, have it forgotten.

A running daemon is asked; where none runs, the files that it keeps are read. Starts no daemon and no model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from velospec.core.errors import DaemonError, VeloSpecError
from velospec.core.paths import workspaces_folder
from velospec.daemon.client import DaemonClient, run_sync
from velospec.daemon.running import statuses
from velospec.learning.workspace.library import Workspaces

T = TypeVar("T")

app = typer.Typer(
    help="""Look at what was learned of your workspaces, or have it forgotten.

    It is kept on this machine alone, a file for each workspace; docs/learning.md says what is in it.
    """,
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Folder = Annotated[Path, typer.Argument(help="The workspace's folder; the current one if not given.")]
_HERE = Path()


@app.command()
def stats(*, as_json: Json = False) -> None:
    """Count what is known of each workspace."""
    found = _ask(lambda client: client.knowledge(), lambda kept: kept.counts())
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("workspace", overflow="fold")
    for name in ("files", "lines", "accepted", "partly", "rejected", "deleted"):
        table.add_column(name, justify="right")
    for each in found:
        judged = (str(count) for count in each["receptions"].values())
        table.add_row(each["workspace"], str(each["documents"]), str(each["lines"]), *judged)
    Console(highlight=False).print(table if found else "Nothing was learned of any workspace yet.")


@app.command()
def show(folder: Folder = _HERE, *, as_json: Json = False) -> None:
    """List the files that are known of a workspace."""
    known = _export(folder)
    for each in known["documents"]:
        each["lines"] = each.pop("text").count("\n")
    if as_json:
        typer.echo(json.dumps(known, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("file", "lines", "relevance", "learned"):
        table.add_column(name, justify="left" if name == "file" else "right", overflow="fold")
    for each in sorted(known["documents"], key=lambda each: (-each["relevance"], each["path"])):
        learned = time.strftime("%Y-%m-%d %H:%M", time.localtime(each["learned"]))
        table.add_row(each["path"] or each["document"], str(each["lines"]), str(each["relevance"]), learned)
    Console(highlight=False).print(table)


@app.command()
def export(
    folder: Folder = _HERE,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it into this file.", dir_okay=False)
    ] = None,
) -> None:
    """Print all that is kept of a workspace, as JSON."""
    text = json.dumps(_export(folder), indent=1)
    if output is None:
        typer.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise VeloSpecError(f"{output} cannot be written: {error.strerror}.", "Name another file.") from error


@app.command()
def forget(
    folder: Folder = _HERE,
    *,
    file: Annotated[str | None, typer.Option("--file", help="Only this file, as `show` lists it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Forget a workspace or one of its files, in memory and on the disk."""
    known = _export(folder)
    name = known["workspace"]
    document = None if file is None else _document(known, file)
    what = f"what was learned of {file or name}"
    if not yes and not typer.confirm(f"Forget {what}?"):
        raise typer.Exit(1)
    count = _ask(lambda client: client.forget(name, document), lambda kept: kept.forget(name, document))
    typer.echo(json.dumps({"workspace": name, "forgotten": count}) if as_json else f"Forgot {what}.")


def _export(folder: Path) -> dict[str, Any]:
    """All that is kept of the workspace in `folder`, or in the nearest folder above it that is one."""
    path = folder.expanduser().absolute()
    names = [each["workspace"] for each in _ask(lambda c: c.knowledge(), lambda kept: kept.counts())]
    name = next((str(each) for each in (path, *path.parents) if str(each) in names), None)
    if name is None:
        raise VeloSpecError(
            f"Nothing was learned of {path}.", "`velospec workspace stats` lists the workspaces."
        )
    return _ask(lambda client: client.export(name), lambda kept: kept.of(name).export())


def _document(known: dict[str, Any], file: str) -> str:
    """The document that `show` lists as `file`. Raises VeloSpecError."""
    for each in known["documents"]:
        if file in (each["path"], each["document"]):
            return str(each["document"])
    raise VeloSpecError(f"{file} is not known there.", "`velospec workspace show` lists the files.")


def _ask(daemon: Callable[[DaemonClient], Awaitable[T]], files: Callable[[Workspaces], T]) -> T:
    """What a running daemon says; where none runs, what the files hold."""
    try:
        if asyncio.run(statuses()):
            return run_sync(daemon, name="velospec workspace", start=False)
    except DaemonError:
        if asyncio.run(statuses()):
            raise  # else an older daemon has made way, and its files are complete
    return files(Workspaces(workspaces_folder()))
