"""`python -m velospec_kernels.benchmark`: all measurements, or one draw between marks for a profiler."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from velospec_kernels import _torch
from velospec_kernels.benchmark import operations, report


def profile(who: str, name: str) -> None:
    """One draw of 12 rows inside cudaProfilerStart and Stop, for ncu --profile-from-start off."""
    torch = _torch.torch()
    ours, chain, pairs = operations.drawing(12, name)
    call = ours if who == "ours" else chain
    for pair in pairs[:3]:
        call(*pair)
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    call(*pairs[3])
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def main() -> None:
    """Measure, print a line for each measurement, and write them down."""
    parser = argparse.ArgumentParser(prog="python -m velospec_kernels.benchmark")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument("--profile", nargs=2, metavar=("ours|torch", "SETTINGS"), help="one draw, for ncu")
    options = parser.parse_args()
    if options.profile:
        profile(*options.profile)
        return
    document = report.measure(lambda text: print(text, file=sys.stdout, flush=True))  # noqa: T201 - a program's output
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
