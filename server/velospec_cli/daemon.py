"""`velospec daemon`: start, look at and end the process that holds the models."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from velospec.core.errors import DaemonError
from velospec.daemon.client import DaemonClient, run_sync
from velospec.daemon.running import statuses, stop_daemons
from velospec.daemon.supervisor import log_file
from velospec_cli.status import show_daemons

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(
    help="""Look after the process that holds the models.

    Editors start it by themselves, and it leaves when it has been idle for ten minutes (VELOSPEC_DAEMON_IDLE
    sets other seconds). So these commands are seldom needed. VELOSPEC_CONTEXT sets how many tokens a prompt
    and its answer may have, 2048 else; it counts from the daemon's start.
    """,
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def start(
    *, load: Annotated[bool, typer.Option(help="Also read the default model into memory now.")] = False
) -> None:
    """Start the daemon, unless it runs already."""

    async def work(client: DaemonClient) -> int:
        pid = int((await client.status())["pid"])
        if load:
            await client.load()
        return pid

    typer.echo(f"The daemon runs as process {run_sync(work, name='velospec daemon start')}.")


@app.command()
def status(*, as_json: Json = False) -> None:
    """Show the running daemon, its clients and the models in memory."""
    found = asyncio.run(statuses())
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        show_daemons(found)


@app.command()
def stop(
    *,
    force: Annotated[bool, typer.Option("--force", help="End it even if it does not answer.")] = False,
) -> None:
    """End the daemon; editors start it again when they next need it."""
    count = asyncio.run(stop_daemons(force=force))
    typer.echo("The daemon has ended." if count else "The daemon is not running.")


@app.command()
def log(
    *,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines are written.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print only where the log is.")] = False,
) -> None:
    """Show the daemon's log. It holds no source text."""
    file = log_file()
    if path:
        typer.echo(str(file))
        return
    if not file.exists():
        raise DaemonError("There is no log yet.", "The daemon writes it: `velospec daemon start`.")
    with file.open(encoding="utf-8", errors="replace") as stream:
        for line in deque(stream, lines):
            typer.echo(line, nl=False)
    if follow:
        _follow(file)


def _follow(file: Path) -> None:
    """Print what is appended to `file`, also after it was rotated, until interrupted."""
    stream = file.open(encoding="utf-8", errors="replace")
    try:
        stream.seek(0, 2)
        while True:
            line = stream.readline()
            if line:
                typer.echo(line, nl=False)
                continue
            time.sleep(0.2)
            if file.exists() and file.stat().st_ino != _inode(stream.fileno()):
                stream.close()
                stream = file.open(encoding="utf-8", errors="replace")
    finally:
        stream.close()


def _inode(descriptor: int) -> int:
    return os.fstat(descriptor).st_ino
