"""Runs the race of `velospec demo` and shows it: live on a terminal, elsewhere its result."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from rich.console import Console
from rich.live import Live

from velospec.models.store import InstalledModel
from velospec_cli import demo_race_view as view
from velospec_cli.demo_race import Lanes, race
from velospec_cli.demo_race_picture import picture
from velospec_cli.demo_speed import beginning
from velospec_cli.demo_spots import RACE_FILE, RACE_TOKENS


def show_race(console: Console, model: InstalledModel, project: Path) -> str:
    """Runs and shows it, and returns its moving picture. Raises VeloSpecError."""
    prompt = beginning((project / RACE_FILE).read_text("utf-8"))
    console.print()
    console.print(f"The same model goes on with {RACE_FILE}, plainly and with drafts, by turns:")
    live = Live(console=console, auto_refresh=False) if _moves(console) else None

    def watch(lanes: Lanes) -> None:
        if live is not None:
            live.update(view.panes(console, prompt, lanes), refresh=True)

    if live is None:
        lanes = race(model, prompt, max_tokens=RACE_TOKENS, watch=watch)
        console.print(view.legend(lanes))
    else:
        with live:
            lanes = race(model, prompt, max_tokens=RACE_TOKENS, watch=watch)
    console.print(view.result(lanes))
    console.print(view.verdict(lanes))
    return picture(prompt, lanes, f"{model.name} on {os.cpu_count()} cores, {platform.machine()}.")


def _moves(console: Console) -> bool:
    """Whether what was drawn can be drawn over; a recording keeps all that was ever drawn."""
    return console.is_terminal and not console.is_dumb_terminal and not console.record
