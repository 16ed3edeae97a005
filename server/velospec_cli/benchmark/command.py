"""`velospec benchmark`: the command and its options. The native library loads when a suite is run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import psutil
import typer
from rich.console import Console, Group, RenderableType

from velospec.core.errors import ModelNotFoundError, VeloSpecError
from velospec.core.request import Mode
from velospec.models.store import InstalledModel, ModelStore
from velospec_cli.benchmark import report
from velospec_cli.benchmark.suites.registry import SERVER_SUITES, SUITES, find_suite
from velospec_cli.progress import Bars

if TYPE_CHECKING:
    from velospec import Engine
    from velospec_cli.benchmark.bench import Outcome

QUICK_SECONDS = 44.0
"""From the start of the process to the last run of a quick benchmark."""


def benchmark(  # noqa: PLR0913 - a command has an option for each wish
    suite: Annotated[
        str | None,
        typer.Argument(help=f"One of {', '.join((*SUITES, *SERVER_SUITES, 'kernels'))}; none lists them."),
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="End within 50 seconds: fewer prompts, fewer tokens, one round.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write all figures into this file.", dir_okay=False)
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write a CSV line for each token into this file.", dir_okay=False)
    ] = None,
    ablation: Annotated[
        bool,
        typer.Option(
            "--ablation", help="Also replay the run with other proposers and controls; takes longer."
        ),
    ] = False,
    rounds: Annotated[int | None, typer.Option(min=1, help="How often each prompt is run.")] = None,
    prompts: Annotated[
        int | None, typer.Option(min=1, help="Only so many prompts, evenly over the suite.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="An installed model; the default for completion, or chat, if not given."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of a decode; one for each core if not given.")
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="exact, or fast: near ties may be decided otherwise.")
    ] = Mode.EXACT,
) -> None:
    """Measure what drafts bring on this machine.

    Each prompt is decoded by VeloSpec without and with drafts, by llama-cpp-python, and by llama-cpp-python
    with prompt lookup: in one run, warmed up, in turns, on the same tokens. Exits with 1 where an output
    with drafts differs from the one without. For figures to rely on, let the machine do nothing else.
    """
    console = Console(highlight=False)
    other = _OTHERS.get(suite or "")
    if other is not None or suite is None:
        told = other(model, prompts, threads, quick=quick, json_file=json_file) if other else _listed()
        console.print(told)
        return
    wanted = find_suite(suite)
    from velospec_cli.benchmark.ablation import ablate  # noqa: PLC0415 - loads the native library
    from velospec_cli.benchmark.bench import run_benchmark  # noqa: PLC0415 - as above
    from velospec_cli.benchmark.opening import Options  # noqa: PLC0415 - as above
    from velospec_cli.benchmark.trace import write_trace  # noqa: PLC0415 - as above

    options = Options(rounds, prompts, threads, _deadline() if quick else None, mode)
    for path in (json_file, trace):
        _check_writable(path)

    with Bars(Console(stderr=True)) as bars:

        def look_closer(engine: Engine, outcome: Outcome) -> None:
            if trace is not None:
                write_trace(trace, outcome.entries, engine)
            if ablation:
                lines = ablate(engine, outcome.entries, ends=wanted.ends, say=bars)
                outcome.document["summary"]["ablation"] = lines

        chosen = _model(model, "chat" if wanted.structured else "completion")
        document = run_benchmark(wanted, chosen, options, bars, look_closer).document
    if json_file is not None:
        _write(json_file, document)
    console.print(report.results(document))
    if wanted.structured:
        console.print(report.kinds(document))
    console.print(report.verdict(document))
    if ablation:
        console.print(report.ablation(document["summary"]["ablation"]))
    if mode is Mode.EXACT:
        _require_identical(document)


def _latency(
    name: str | None, places: int | None, threads: int | None, *, quick: bool, json_file: Path | None
) -> RenderableType:
    """The suite that drives the language server instead of the engine."""
    from velospec_cli.benchmark.suites import latency  # noqa: PLC0415 - loads the protocol's library

    _check_writable(json_file)
    deadline = _deadline() if quick else None
    count = places or SERVER_SUITES["latency"].size
    model = _model(name, "completion")
    with Bars(Console(stderr=True)) as bars:
        document = latency.run_latency(model, count, threads or psutil.cpu_count() or 1, bars, deadline)
    if json_file is not None:
        _write(json_file, document)
    return report.latency(document["summary"])


def _quality(
    name: str | None, places: int | None, threads: int | None, *, quick: bool, json_file: Path | None
) -> RenderableType:
    """The suite that judges what the language server would show."""
    from velospec_cli.benchmark.opening import Options  # noqa: PLC0415 - loads the native library
    from velospec_cli.benchmark.suites.quality_run import run_quality  # noqa: PLC0415 - as above

    _check_writable(json_file)
    options = Options(prompts=places, threads=threads, deadline=_deadline() if quick else None)
    with Bars(Console(stderr=True)) as bars:
        document = run_quality(_model(name, "completion"), options, bars)
    if json_file is not None:
        _write(json_file, document)
    return report.quality(document)


def _learning(
    name: str | None, cursors: int | None, threads: int | None, *, quick: bool, json_file: Path | None
) -> RenderableType:
    """The suite that compares what was learned; `cursors` of each project."""
    from velospec_cli.benchmark.opening import Options  # noqa: PLC0415 - loads the native library
    from velospec_cli.benchmark.suites import learning  # noqa: PLC0415 - as above

    _check_writable(json_file)
    options = Options(prompts=cursors, threads=threads, deadline=_deadline() if quick else None)
    with Bars(Console(stderr=True)) as bars:
        document = learning.run_learning(_model(name, "completion"), options, bars)
    if json_file is not None:
        _write(json_file, document)
    return learning.shown(document)


def _kernels(
    _model: str | None, _prompts: int | None, _threads: int | None, *, quick: bool, json_file: Path | None
) -> RenderableType:
    """What needs a GPU and no model."""
    if quick:
        raise VeloSpecError(
            "The kernels have no quick benchmark.", "Leave out --quick: it takes two minutes."
        )
    from velospec_cli.benchmark.kernels import measure_kernels  # noqa: PLC0415 - loads numpy

    _check_writable(json_file)
    return measure_kernels(Console(stderr=True, highlight=False), json_file)


_OTHERS = {"latency": _latency, "quality": _quality, "learning": _learning, "kernels": _kernels}
"""What runs the suites that are not prompts for the engine."""


def _listed() -> RenderableType:
    return Group(report.suites(SUITES.values(), SERVER_SUITES.values()), f"\n{report.USAGE}")


def _model(name: str | None, role: str) -> InstalledModel:
    """The model to measure. Raises ModelNotFoundError."""
    store = ModelStore()
    found = store.get(name) if name else store.default(role)
    if found is None:
        if role == "chat":
            raise ModelNotFoundError(
                "No chat model is installed.", "Install one: velospec model install smollm2-135m-instruct"
            )
        raise ModelNotFoundError("No model is installed.", "Install one: velospec model install")
    return store.check(found)


def _deadline() -> float:
    """When a quick run must be over, counted from the start of this process; on time.monotonic's clock."""
    age = time.time() - float(psutil.Process().create_time())
    return time.monotonic() - age + QUICK_SECONDS


def _check_writable(path: Path | None) -> None:
    """Better now than after the run. Raises VeloSpecError."""
    if path is not None and not path.absolute().parent.is_dir():
        raise VeloSpecError(
            f"There is no folder {path.absolute().parent}.", "Name a file in one that exists."
        )


def _write(path: Path, document: dict[str, Any]) -> None:
    """As JSON, each row on a line of its own."""
    rows = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    frame = json.dumps({**document, "rows": ["@"]}, indent=1)
    path.write_text(frame.replace('  "@"', rows, 1) + "\n", "utf-8")


def _require_identical(document: dict[str, Any]) -> None:
    """Raises VeloSpecError where drafts have changed an output of a model that is exact."""
    if document["model"]["exact"] and not all(row["identical"] for row in document["rows"]):
        raise VeloSpecError(
            "Outputs with drafts differ from those without.", "This is a defect: please report it."
        )
