"""All measurements as one document, and its lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from velospec_kernels import _torch
from velospec_kernels.benchmark import operations
from velospec_kernels.benchmark.timing import copy_bandwidth
from velospec_kernels.errors import BuildError

Document = dict[str, Any]


def measure(say: Callable[[str], None]) -> Document:
    """Measure everything on the first GPU, a line to `say` for each. Raises BuildError without a GPU."""
    torch = _gpu()
    bandwidth = copy_bandwidth()
    document: Document = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "copy_bytes_per_second": bandwidth,
        "vocabulary": operations.VOCABULARY,
        "dtype": "bfloat16",
        "rows": [],
    }
    say(heading(document))
    for row in operations.all_rows():
        document["rows"].append(row)
        say(line(row, bandwidth))
    return document


def heading(document: Document) -> str:
    """What was measured on."""
    speed = document["copy_bytes_per_second"] / 1e12
    return (
        f"{document['device']}, torch {document['torch']}, CUDA {document['cuda']}; "
        f"a copy moves {speed:.2f} TB/s; "
        f"{document['vocabulary']:,} logits in {document['dtype']} a row; microseconds a call"
    )


def line(row: operations.Row, bandwidth: float) -> str:
    """One measurement; the share of the copy bandwidth where every logit had to be read."""
    times = ", ".join(f"{name} {us:.2f}" for name, us in row["us"].items())
    share = ""
    if row.get("bytes"):
        rate = row["bytes"] / row["us"]["cuda"] * 1e6
        share = f" ({rate / bandwidth:.0%} of copy bandwidth)"
    return f"{row['operation']}, {row['rows']} rows, density {row['density']:g}: {times}{share}"


def _gpu() -> Any:
    remedy = "The kernels are measured on an NVIDIA GPU, with pip install 'velospec[torch]'."
    try:
        torch = _torch.torch()
    except ImportError as error:
        raise BuildError("torch is not installed.", remedy) from error
    if not torch.cuda.is_available():
        raise BuildError("torch sees no CUDA device.", remedy)
    return torch
