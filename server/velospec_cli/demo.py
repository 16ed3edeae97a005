"""`velospec demo`: completions of a sample project, as an editor would show them, made on this machine.

The way is the real one: language server, daemon, model. The project is a copy; the daemon is left as it was
found, and stopped if there was none before. A race between plain decoding and drafts ends it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from velospec.core.errors import VeloSpecError
from velospec.daemon.client import DaemonClient
from velospec.daemon.protocol import Event
from velospec.daemon.running import statuses, stop_daemons
from velospec.models.store import InstalledModel, ModelStore
from velospec_cli import demo_view as view
from velospec_cli.demo_client import Answer, EditorSession
from velospec_cli.demo_race_show import show_race
from velospec_cli.demo_speed import Speed, beginning, compare
from velospec_cli.demo_spots import SPEED_FILES, SPOTS, Spot, copy_project
from velospec_cli.editor import how_to_connect

DEFAULT_MODEL = "smollm2-135m-fim"
_SVG_WIDTH = 92
_MEASURE_SECONDS = 60.0  # a quiet machine needs a fraction of it

Report = Callable[[str, float | None], None]
"""Called with what is being done and the fraction of it that is done, None where unknown."""


def demo(
    *,
    model: Annotated[
        str | None, typer.Option(help="An installed model; the default for completion if not given.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Also draw what is shown as a picture into this file.", dir_okay=False)
    ] = None,
    race: Annotated[bool, typer.Option(help="Whether to show the race with plain decoding.")] = True,
    race_only: Annotated[bool, typer.Option("--race-only", help="Show nothing but the race.")] = False,
    race_svg: Annotated[
        Path | None,
        typer.Option(help="Also draw the race as a moving picture into this file.", dir_okay=False),
    ] = None,
) -> None:
    """Show completions of a sample project, and how fast they are."""
    if not race and (race_only or race_svg):
        raise typer.BadParameter("--no-race leaves no race to show.")
    console = Console(highlight=False, record=svg is not None, width=_SVG_WIDTH if svg else None)
    chosen = _model(model, console)
    with tempfile.TemporaryDirectory(prefix="velospec-demo-") as folder:
        project = copy_project(Path(folder))
        asyncio.run(_show(console, chosen, project, completions=not race_only))
        if race:
            moving = show_race(console, chosen, project)
            if race_svg:
                _write(race_svg, moving)
    if not race_only:
        console.print()
        console.print(how_to_connect())
    if svg:
        _write(svg, console.export_svg(title="velospec demo", code_format=view.SVG_FORMAT))


def _write(file: Path, picture: str) -> None:
    try:
        file.write_text(picture, "utf-8")
    except OSError as error:
        raise VeloSpecError(f"The picture cannot be written: {error}", "Name another file.") from error


def _model(name: str | None, console: Console) -> InstalledModel:
    """The model to show, installed first where none is. Raises VeloSpecError."""
    store = ModelStore()
    found = store.get(name) if name else store.default("completion")
    if found:
        if "completion" not in found.roles:
            cause = f"{found.name} cannot complete at a cursor."
            raise VeloSpecError(cause, "Choose another one; `velospec model list` shows what is installed.")
        return found
    from velospec.models.install import install  # noqa: PLC0415  # the libraries for it load slowly

    console.print(f"No model is installed; installing {DEFAULT_MODEL}, the smallest.")
    with _progress() as report:
        return install(
            DEFAULT_MODEL,
            store=store,
            progress=lambda label, done, total: report(label, done / total if total else None),
        )


@contextmanager
def _progress() -> Iterator[Report]:
    """A line on stderr that tells what takes time, gone when it is over; one line each without a screen."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    screen = Console(stderr=True)
    quiet = not screen.is_terminal or screen.is_dumb_terminal
    with Progress(*columns, console=screen, transient=True, disable=quiet) as bar:
        task = bar.add_task("", total=None)

        told: set[str] = set()

        def report(label: str, fraction: float | None) -> None:
            if quiet and label not in told:
                told.add(label)
                screen.print(f"{label} ...", highlight=False)
            bar.update(
                task, description=label, total=None if fraction is None else 1.0, completed=fraction or 0
            )

        yield report


async def _show(console: Console, model: InstalledModel, project: Path, *, completions: bool) -> None:
    before = await statuses()
    try:
        with _progress() as report:
            await _prepare(console, model, report)
        if not completions:
            return
        async with EditorSession(project, model.name, lambda _message, _fraction: None) as editor:
            for spot in SPOTS:
                await _show_spot(console, editor, spot, (project / spot.file).read_text("utf-8"))
        await _show_speed(console, model, project)
    finally:
        if not before:
            await stop_daemons()


async def _prepare(console: Console, model: InstalledModel, report: Report) -> None:
    """Has the model in memory, and measured, so that the times shown are those of everyday use."""

    def on_event(event: Event) -> None:
        report(event.message or f"Loading {model.name}", event.fraction)

    async with DaemonClient("velospec demo", on_event=on_event) as client:
        report(f"Loading {model.name}", None)
        started = time.perf_counter()
        await client.load(model.name)
        loaded = time.perf_counter() - started
        console.print(
            Text.assemble(("VeloSpec", "bold"), f" completes with {model.name}, ready in {loaded:.1f} s.")
        )
        status = await client.status()
        if not all(each["measured"] for each in status["models"] if each["name"] == model.name):
            report("Measuring how fast this machine is (once for each model)", None)
            try:
                await asyncio.wait_for(client.measure(model.name), _MEASURE_SECONDS)
            except TimeoutError:
                console.print(
                    "The machine is busy and not measured yet; drafts go by typical costs.", style="yellow"
                )


async def _show_spot(console: Console, editor: EditorSession, spot: Spot, text: str) -> None:
    """Types what `spot` says, and shows what is offered after it."""
    head, tail = spot.split(text)
    editor.open(spot.file, spot.language, text)
    with _progress() as report:
        report(f"Completing in {spot.file}", None)
        editor.type(spot.file, len(head), spot.start)
        cold = await editor.ask(spot.file, len(head + spot.start))
        editor.type(spot.file, len(head + spot.start), spot.more)
        warm = await editor.ask(spot.file, len(head + spot.start + spot.more))
    typed = head + spot.start + spot.more
    console.print()
    console.print(view.editor(_frame(spot, typed, tail, warm)), width=view.width(console))
    console.print(view.times(cold.seconds, warm.seconds, spot.more))
    if not warm.text:
        console.print(f"Nothing is offered here: {await editor.why(spot.file)}", style="yellow")


def _frame(spot: Spot, typed: str, tail: str, answer: Answer) -> view.Frame:
    line = typed.rfind("\n") + 1
    return view.Frame(
        spot.file,
        spot.language,
        typed + tail,
        index=len(typed),
        start=line + answer.start,
        end=max(line + answer.end, len(typed)),
        ghost=answer.text,
    )


async def _show_speed(console: Console, model: InstalledModel, project: Path) -> None:
    """Measures decoding with and without drafts, and shows both."""
    files, max_tokens = SPEED_FILES
    prompts = [(name, beginning((project / name).read_text("utf-8"))) for name in files]
    results: list[Speed] = []
    async with DaemonClient("velospec demo") as client:
        with _progress() as report:
            report("Comparing speeds with and without drafts", 0.0)
            async for speed in compare(client, prompts, model=model.name, max_tokens=max_tokens):
                results.append(speed)
                report("Comparing speeds with and without drafts", len(results) / len(prompts))
    console.print()
    console.print(view.speeds(results))
    console.print(view.verdict(results))
