"""`velospec kernels`: the compiled kernels for GPUs, and compiling them ahead of their first use."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from velospec.core.errors import VeloSpecError
from velospec_kernels import ahead
from velospec_kernels.errors import KernelError

app = typer.Typer(no_args_is_help=True, help="Compile the kernels for GPUs ahead of time.")

Architectures = Annotated[
    list[str] | None,
    typer.Option(
        "--architecture", help="A target such as sm_90; may be given again. Those of the GPUs here if not."
    ),
]


@app.command("list")
def show(architecture: Architectures = None) -> None:
    """Show which kernels are compiled, and where. Compiles nothing."""
    table = Table("kernel", "target", "compiled", box=None, header_style="bold", pad_edge=False)
    missing = ""
    for entry in ahead.listed(_targets(architecture)):
        table.add_row(
            entry.operation, entry.target, entry.library.name if entry.library and entry.built else "no"
        )
        missing = missing or entry.why
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print(f"They lie in {ahead.folder()}.")
    console.print(missing or "A kernel is compiled on its first use, or now: velospec kernels build")


@app.command()
def build(architecture: Architectures = None) -> None:
    """Compile every kernel that is not compiled yet."""
    console = Console(highlight=False, soft_wrap=True)
    for entry in ahead.listed(_targets(architecture)):
        was_there, began = entry.built, time.monotonic()
        with _told():
            library = ahead.build(entry.operation, entry.target)
        done = "was there" if was_there else f"{time.monotonic() - began:.0f} s"
        console.print(f"{entry.operation} for {entry.target}: {library} ({done})")


def _targets(wanted: list[str] | None) -> list[str]:
    """What to compile for. Raises VeloSpecError."""
    for name in wanted or ():
        if not re.fullmatch(r"sm_\d{2,3}[af]?", name):
            raise VeloSpecError(
                f"{name} is no architecture of CUDA.", "Name one such as sm_80, sm_90 or sm_120."
            )
    return wanted or ahead.architectures()


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the kernels, which cannot know those of VeloSpec, as the command line tells them."""
    try:
        yield
    except KernelError as error:
        raise VeloSpecError(error.cause, error.remedy) from error
