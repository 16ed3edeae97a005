"""`velospec benchmark kernels`: the operations on a GPU, each beside what else does its work."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.text import Text

from velospec.core.errors import VeloSpecError
from velospec_kernels.benchmark.report import measure
from velospec_kernels.errors import KernelError


def measure_kernels(progress: Console, json_file: Path | None) -> RenderableType:
    """All figures, also written to `json_file`; `progress` is told what is done. Raises VeloSpecError."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if progress.is_terminal:
            progress.print(line.partition(":")[0])

    try:
        document = measure(say)
    except KernelError as error:
        raise VeloSpecError(error.cause, error.remedy) from error
    if json_file is not None:
        json_file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return Group(*(Text(line) for line in lines))
