"""What a batch costs with our kernels in llama.cpp and without them, in turns.

    python -m tests.benchmarks.bench_cpu_kernels MODEL.gguf
    python -m tests.benchmarks.bench_cpu_kernels --random Q4_K+Q6_K  # a model of random weights, 300 million

First it checks that rows of a batch equal single rows bit for bit with the kernels on; without that no figure
is printed. llama.cpp alone lays weights out anew where it does by default. Times are the least of all rounds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tests.support.random_quantized import LARGE, write_llama
from velospec.backends.llama_cpp import KvType, LlamaBackend, LlamaOptions, build_id
from velospec.backends.llama_cpp.native import stock

CONTEXTS = (48, 256, 512)
ROWS = (1, 2, 3, 4, 6, 8, 12, 16)
ROUNDS = 9
METHODS = ("llama.cpp", "kernels")


def main(
    model: Annotated[Path | None, typer.Argument()] = None,
    random: Annotated[str, typer.Option(help="Formats of random weights, as in Q4_K+Q6_K.")] = "",
) -> None:
    """Print T(k) and the reading speed by context, of llama.cpp alone and with our kernels."""
    if model:
        compare(model)
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(write_llama(Path(folder) / f"random {random}.gguf", random, LARGE))


def compare(model: Path) -> None:
    options = LlamaOptions(context=1024, slots=1, kv_type=KvType.BF16, flash_attention=True)
    backends = {}
    for method in METHODS:
        with using(method):
            backends[method] = LlamaBackend(model, options)
        backends[method].pin_threads(backends[method].threads)
    ids = [
        int(token) for token in np.random.default_rng(0).integers(100, 20_000, size=max(CONTEXTS) + max(ROWS))
    ]
    if not agree(backends["kernels"], ids):
        sys.exit("a batch has other bits than single rows")
    typer.echo(f"{model.name}; {build_id()}; {backends['kernels'].threads} threads")
    for context in CONTEXTS:
        times = measure(backends, ids, context)
        for method in METHODS:
            cells = "  ".join(f"{rows}: {1e3 * times[method, rows]:.2f}" for rows in ROWS)
            rate = context / times[method, 0]
            typer.echo(f"context {context}, {method}: ms by rows {cells}; prompt {rate:.0f} tokens/s")
    for backend in backends.values():
        backend.close()


def agree(backend: LlamaBackend, ids: list[int]) -> bool:
    """Whether the rows of one batch have the bits of single rows."""
    backend.prefill(0, ids[:40], 0)
    single = [backend.decode(0, [ids[at]], at)[0].copy() for at in range(40, 56)]
    backend.truncate(0, 40)
    together = backend.decode(0, ids[40:56], 40)
    return all(row.tobytes() == alone.tobytes() for row, alone in zip(together, single, strict=True))


def measure(backends: dict[str, LlamaBackend], ids: list[int], context: int) -> dict[tuple[str, int], float]:
    """Least seconds by method and rows; under 0 rows those of reading the prompt."""
    best: dict[tuple[str, int], float] = defaultdict(lambda: float("inf"))
    for number in range(ROUNDS):
        for method in METHODS if number % 2 else reversed(METHODS):
            backend = backends[method]
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
