"""What batches cost on this machine, and what the backend adds to llama_decode.

    python tests/benchmarks/bench_backend.py MODEL.gguf

First it checks that rows of a batch equal single rows bit for bit; without that no figure is printed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import typer

from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions, build_id
from velospec.control.measure import measure_costs
from velospec.verify.exact import probe


def main(model: Path) -> None:
    """Print the numerics, T(k) by context, prefill rate, and the overhead of one call."""
    started = time.perf_counter()
    backend = LlamaBackend(model, LlamaOptions(slots=2))
    loaded = time.perf_counter() - started
    started = time.perf_counter()
    numerics = probe(backend)
    probed = time.perf_counter() - started
    if not numerics.exact:
        sys.exit(f"rows do not agree: {numerics.reason}")
    backend.pin_threads(backend.threads)  # what the machine can do, not what it grants at the moment
    started = time.perf_counter()
    costs = measure_costs(backend, limit=60)
    measured = time.perf_counter() - started
    typer.echo(f"{model.name}; {build_id()}; {backend.threads} threads; load {os.getloadavg()[0]:.1f}")
    typer.echo(f"KV {numerics.kv_type}, flash attention {numerics.flash_attention}, {numerics.reason}")
    typer.echo(
        f"load {loaded:.2f} s, probe {probed:.1f} s, T(k) {measured:.1f} s, measured: {costs.measured}"
    )
    for context, curve in costs.curves.items():
        ratios = "  ".join(f"{rows}: {time / curve[1]:.2f}" for rows, time in curve.items())
        typer.echo(f"context {context}: T(1) {1e3 * curve[1]:.1f} ms; T(k)/T(1) {ratios}")
    typer.echo(f"prefill {costs.prefill_rate:.0f} tokens/s")
    for rows in (1, 8):
        low, middle, high = overhead(backend, rows)
        typer.echo(
            f"outside llama_decode, {rows} rows: {middle:.0f} us (middle half {low:.0f} to {high:.0f})"
        )
    backend.close()


def overhead(backend: LlamaBackend, rows: int, calls: int = 60) -> tuple[float, float, float]:
    """Quartiles of the microseconds that decode and truncate take beside the native decode."""
    ids = list(range(100, 100 + rows))
    inside = [0.0]
    compute = backend._compute

    def timed(batch: object) -> int:
        started = time.perf_counter()
        status = compute(batch)
        inside[0] = time.perf_counter() - started
        return status

    backend._compute = timed  # type: ignore[method-assign]  # timing the native call apart
    samples = []
    for _ in range(calls):
        started = time.perf_counter()
        logits = backend.decode(0, ids, 0)
        backend.truncate(0, 0)
        samples.append(1e6 * (time.perf_counter() - started - inside[0]))
        assert np.isfinite(logits[0, 0])
    backend._compute = compute  # type: ignore[method-assign]  # as it was
    low, _, high = quantiles(samples, n=4)
    return low, median(samples), high


if __name__ == "__main__":
    typer.run(main)
