"""`velospec status`: what is installed and what is running, at a glance."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from velospec import __version__
from velospec.core import paths
from velospec.core.acceptance_counts import KINDS, RECENT_DAYS, read_counts, recent
from velospec.core.statistics import Statistics
from velospec.daemon.codec import from_plain
from velospec.daemon.running import statuses
from velospec.models.store import ROLES, ModelStore
from velospec_cli.statistics_view import totals_view

_STYLES = {"ready": "green", "busy": "yellow", "loading": "cyan", "waiting": "cyan"}


def status(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False
) -> None:
    """Show what is installed and what is running."""
    store = ModelStore()
    defaults = {role: model.name if (model := store.default(role)) else None for role in ROLES}
    daemons = asyncio.run(statuses())
    if as_json:
        report = {
            "version": __version__,
            "models": [model.to_dict() for model in store.list()],
            "defaults": defaults,
            "daemons": daemons,
            "suggestions": recent(read_counts()),
            "data_folder": str(paths.data_folder()),
            "log_folder": str(paths.log_folder()),
        }
        typer.echo(json.dumps(report, indent=2))
        return
    console = Console()
    console.print(f"VeloSpec {__version__}")
    for role, name in defaults.items():
        console.print(f"  {role:<11} {name or 'none; install one: velospec model install'}", highlight=False)
    show_daemons(daemons, console)
    _show_suggestions(console)


def show_daemons(daemons: list[dict[str, Any]], console: Console | None = None) -> None:
    """Print running daemons as tables."""
    console = console or Console()
    if not daemons:
        console.print("The daemon is not running. Editors start it when they need it.")
    for daemon in daemons:
        _show_daemon(daemon, console)


def _show_suggestions(console: Console) -> None:
    """What became of the suggestions of late; nothing before the first."""
    counts = recent(read_counts())
    if not counts:
        return
    console.print(f"\nSuggestions of the last {RECENT_DAYS} days:", highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("language", no_wrap=True)
    for kind in KINDS:
        table.add_column(kind, justify="right", no_wrap=True)
    for language, kinds in sorted(counts.items()):
        table.add_row(language, *(str(kinds[kind]) for kind in KINDS))
    console.print(table)


def _show_daemon(daemon: dict[str, Any], console: Console) -> None:
    if "error" in daemon:
        console.print(f"Daemon {daemon['pid']}: {daemon['error']}", style="red", highlight=False)
        return
    memory = daemon["resident_bytes"] / (1 << 20)
    uptime = _duration(daemon["uptime"])
    console.print(
        f"Daemon {daemon['pid']}, build {daemon['build']}, up {uptime}, {memory:.0f} MiB", highlight=False
    )
    clients = ", ".join(f"{each['name']} ({each['pid']})" for each in daemon["clients"])
    console.print(f"  clients: {clients or 'none'}", highlight=False)
    if not daemon["models"]:
        console.print("  no model in memory; it is loaded with the first request")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("model", "state"):
        table.add_column(heading, no_wrap=True)
    for heading in ("memory", "served", "tok/s", "accepted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("mode", no_wrap=True)
    for model in daemon["models"]:
        table.add_row(*_cells(model))
    console.print(table)
    for notice in filter(None, (model.get("notice") for model in daemon["models"])):
        console.print(f"  {notice}", highlight=False)
    for model in daemon["models"]:
        _show_totals(model, console)


def _show_totals(model: dict[str, Any], console: Console) -> None:
    """What the model's answers came to since it was loaded; nothing before the first."""
    statistics = from_plain(Statistics, model["statistics"], lenient=True)  # it holds derived figures too
    if statistics.steps:
        console.print(f"\n{model['name']}, since it was loaded:", highlight=False)
        console.print(totals_view(statistics), highlight=False)


def _cells(model: dict[str, Any]) -> tuple[str, ...]:
    statistics = model["statistics"]
    return (
        model["name"],
        f"[{_STYLES.get(model['state'], 'white')}]{model['state']}[/]",
        f"{model['memory_bytes'] / (1 << 20):.0f} MiB",
        str(model["requests"]),
        f"{statistics['tokens_per_second']:.0f}",
        f"{statistics['acceptance_rate']:.0%}",
        _mode(model),
    )


def _mode(model: dict[str, Any]) -> str:
    if not model["measured"]:
        return "unmeasured"
    exact = model.get("exact")
    return "measured" if exact is None else ("exact" if exact else "not exact")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
