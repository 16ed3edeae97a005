"""What a batch costs with our kernels in llama.cpp and without them, in turns on one loaded model.

    python -m tests.benchmarks.bench_cpu_kernels MODEL.gguf

First it checks that rows of a batch equal single rows bit for bit with the kernels on; without that no figure
is printed. Times are the least of all rounds.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import typer

from velospec.backends.llama_cpp import KvType, LlamaBackend, LlamaOptions, build_id
from velospec.backends.llama_cpp.native import stock

CONTEXTS = (48, 256, 512)
ROWS = (1, 2, 3, 4, 6, 8, 12, 16)
ROUNDS = 9
METHODS = ("llama.cpp", "kernels")


def main(model: Path) -> None:
    """Print T(k) and the reading speed by context, of llama.cpp alone and with our kernels."""
    options = LlamaOptions(context=1024, slots=1, kv_type=KvType.BF16, flash_attention=True)
    backend = LlamaBackend(model, options)
    backend.pin_threads(backend.threads)
    ids = [
        int(token) for token in np.random.default_rng(0).integers(100, 20_000, size=max(CONTEXTS) + max(ROWS))
    ]
    if not agree(backend, ids):
        sys.exit("a batch has other bits than single rows")
    typer.echo(f"{model.name}; {build_id()}; {backend.threads} threads")
    for context in CONTEXTS:
        times = measure(backend, ids, context)
        for method in METHODS:
            cells = "  ".join(f"{rows}: {1e3 * times[method, rows]:.2f}" for rows in ROWS)
            rate = context / times[method, 0]
            typer.echo(f"context {context}, {method}: ms by rows {cells}; prompt {rate:.0f} tokens/s")
    backend.close()


def agree(backend: LlamaBackend, ids: list[int]) -> bool:
    """Whether the rows of one batch have the bits of single rows."""
    backend.prefill(0, ids[:40], 0)
    single = [backend.decode(0, [ids[at]], at)[0].copy() for at in range(40, 56)]
    backend.truncate(0, 40)
    together = backend.decode(0, ids[40:56], 40)
    return all(row.tobytes() == alone.tobytes() for row, alone in zip(together, single, strict=True))


def measure(backend: LlamaBackend, ids: list[int], context: int) -> dict[tuple[str, int], float]:
    """Least seconds by method and rows; under 0 rows those of reading the prompt."""
    best: dict[tuple[str, int], float] = defaultdict(lambda: float("inf"))
    for number in range(ROUNDS):
        for method in METHODS if number % 2 else reversed(METHODS):
            with using(method):
                backend.truncate(0, 0)
                started = time.perf_counter()
                backend.prefill(0, ids[:context], 0)
                best[method, 0] = min(best[method, 0], time.perf_counter() - started)
                for rows in ROWS:
                    started = time.perf_counter()
                    backend.decode(0, ids[context : context + rows], context)
                    best[method, rows] = min(best[method, rows], time.perf_counter() - started)
                    backend.truncate(0, context)
    return best


def using(method: str) -> AbstractContextManager[None]:
    return stock() if method == "llama.cpp" else nullcontext()


if __name__ == "__main__":
    typer.run(main)
