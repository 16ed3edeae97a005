"""One table row for each operation, number of rows and density: microseconds by who did the work."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from velospec_kernels import (
    _torch,
    fused_logit_processor,
    fused_sample,
    grammar_masked_argmax,
    popcount_density,
)
from velospec_kernels.benchmark import rivals
from velospec_kernels.benchmark.timing import replayed

VOCABULARY = 248_320
ROWS = (1, 6, 8, 12)
DENSITIES = (1e-4, 0.02, 0.98)
SETTINGS: dict[str, tuple[float, int, float, float]] = {
    "temperature": (0.8, 0, 1.0, 0.0),
    "top-k 40": (0.8, 40, 1.0, 0.0),
    "top-p 0.95": (0.8, 0, 0.95, 0.0),
    "top-k 40, top-p 0.95, min-p 0.05": (0.8, 40, 0.95, 0.05),
}
_ROTATED_BYTES = 200_000_000  # over three times the second-level cache of an H200
_DRAWN_DENSITY = 0.98
_CHAIN = 8  # inputs of the slow chains: enough, since each call writes more than the cache holds

Row = dict[str, Any]
Inputs = list[tuple[Any, Any]]


def inputs(rows: int, density: float) -> Inputs:
    """Pairs of random logits, bf16 [rows, vocabulary], and masks, int32 [rows, words], apart in memory."""
    torch = _torch.torch()
    sets = max(4, min(512, _ROTATED_BYTES // (rows * VOCABULARY * 2)))
    generator = torch.Generator("cuda").manual_seed(1)
    rng = np.random.default_rng(2)
    bits = [rng.random((rows, VOCABULARY)) < density for _ in range(4)]
    masks = [np.packbits(part, axis=1, bitorder="little").view("<i4") for part in bits]
    return [
        (
            torch.randn((rows, VOCABULARY), generator=generator, device="cuda", dtype=torch.bfloat16) * 4,
            torch.from_numpy(masks[at % 4]).cuda(),
        )
        for at in range(sets)
    ]


def masked_argmax(rows: int, density: float, compiled: Callable[[Any, Any], Any]) -> Row:
    """The greedy choice; xgrammar last, since it writes to the logits."""
    pairs = inputs(rows, density)
    space = grammar_masked_argmax.cuda.workspace(rows, VOCABULARY, "cuda")
    words = fused_logit_processor.workspace(rows, VOCABULARY, "cuda")
    out = grammar_masked_argmax.MaskedArgmax(*grammar_masked_argmax.empty(pairs[0][0], rows))

    def cuda(logits: Any, mask: Any) -> object:
        return grammar_masked_argmax.grammar_masked_argmax(logits, mask, out=out, workspace=space)

    def triton(logits: Any, mask: Any) -> object:
        return fused_logit_processor.fused_logit_processor(logits, mask, out=out, workspace=words)

    ids, best, counts = rivals.masked_argmax(*pairs[0])
    for form in (cuda, triton):
        form(*pairs[0])
        same = (out.ids == ids) & (out.top1 == best[:, 0]) & (out.top2 == best[:, 1]) & (out.counts == counts)
        if not bool(same.all()):
            raise SystemExit(f"{form.__name__} and torch disagree: nothing is timed")
    times = {
        "cuda": replayed(cuda, pairs),
        "cuda, in cache": replayed(cuda, pairs[:2] * 32),
        "triton": replayed(triton, pairs),
        "torch": replayed(rivals.masked_argmax, pairs[:_CHAIN]),
        "torch.compile": replayed(compiled, pairs),
    }
    for backend in ("triton", "cuda"):
        chain = rivals.xgrammar(backend)
        if chain is not None:
            times[f"xgrammar {backend}"] = replayed(chain, pairs)
    moved = rows * (VOCABULARY * 2 + VOCABULARY // 8) if density > 0.9 else None
    return {"operation": "masked argmax", "rows": rows, "density": density, "bytes": moved, "us": times}


def popcount(rows: int) -> Row:
    """Allowed counts; beside torch, the word loop on the host."""
    pairs = inputs(rows, _DRAWN_DENSITY)
    out = popcount_density.popcount_density(pairs[0][1], VOCABULARY)
    words = pairs[0][1].cpu().tolist()
    if out.counts.tolist() != rivals.count_by_words(words):
        raise SystemExit("popcount_density and the word loop disagree: nothing is timed")
    loop = min(timeit.repeat(lambda: rivals.count_by_words(words), number=1, repeat=20)) * 1e6
    times = {
        "cuda": replayed(lambda _, mask: popcount_density.popcount_density(mask, VOCABULARY, out=out), pairs),
        "torch": replayed(lambda _, mask: rivals.counts(mask, VOCABULARY), pairs),
        "word loop": loop,
    }
    return {"operation": "popcount", "rows": rows, "density": _DRAWN_DENSITY, "us": times}


def drawing(rows: int, name: str) -> tuple[Callable[..., object], Callable[..., object], Inputs]:
    """One draw a row with the settings `name`: ours, torch's chain, and inputs."""
    torch = _torch.torch()
    pairs = inputs(rows, _DRAWN_DENSITY)
    settings = torch.tensor([SETTINGS[name]] * rows, dtype=torch.float32, device="cuda")
    keys = torch.tensor([[1, position] for position in range(rows)], device="cuda")
    out: Any = fused_sample.fused_sample(*pairs[0], settings=settings, keys=keys)

    def ours(logits: Any, mask: Any) -> object:
        return fused_sample.fused_sample(logits, mask, settings=settings, keys=keys, out=out)

    def chain(logits: Any, mask: Any) -> object:
        return rivals.sample(logits, mask, SETTINGS[name])

    return ours, chain, pairs


def sample(rows: int, name: str) -> Row:
    """One draw a row, ours and torch's; tests hold ours to its distribution."""
    ours, chain, pairs = drawing(rows, name)
    times = {"cuda": replayed(ours, pairs), "torch": replayed(chain, pairs[:_CHAIN])}
    return {"operation": f"sample, {name}", "rows": rows, "density": _DRAWN_DENSITY, "us": times}


def all_rows() -> Iterator[Row]:
    """Every measurement, in the order of the tables."""
    for rows in ROWS:
        compiled = rivals.compiled()
        for density in DENSITIES:
            yield masked_argmax(rows, density, compiled)
    for rows in ROWS:
        yield popcount(rows)
    for name in SETTINGS:
        for rows in ROWS:
            yield sample(rows, name)
