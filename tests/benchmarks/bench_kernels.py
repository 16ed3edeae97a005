"""Times the kernels, each beside the plain chain of its framework, after checking that their answers agree.

    PYTHONPATH=kernels python3 -m tests.benchmarks.bench_kernels cpu
    PYTHONPATH=kernels python3 -m tests.benchmarks.bench_kernels cuda

On the CPU: the least of many repeats, since a shared machine only ever adds time. On CUDA: replays of a graph
of many calls that rotate over inputs larger than the second-level cache, by device events, median of replays.
"""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.kernel_cases import draw_mask, draw_values
from velospec_kernels import _torch
from velospec_kernels.grammar_masked_argmax import MaskedArgmax, cuda, grammar_masked_argmax
from velospec_kernels.popcount_density import popcount_density

DENSITIES = (1e-4, 0.02, 0.98)
ROTATED_BYTES = 200_000_000  # over three times the second-level cache of an H200


def say(*cells: object) -> None:
    """One row of a markdown table."""
    sys.stdout.write("| " + " | ".join(str(cell) for cell in cells) + " |\n")


def cpu() -> None:
    """Microseconds of the numpy forms, and of numpy's own chain: unpack, where, argmax, max, sum."""
    say("vocabulary", "rows", "density", "masked argmax us", "numpy chain us", "popcount us")
    say(*["---"] * 6)
    rng = np.random.default_rng(0)
    for vocabulary in (49_152, 151_936):
        for rows in (1, 6):
            logits = draw_values(rng, (rows, vocabulary), "normal")
            for density in (None, *DENSITIES):
                mask = None if density is None else draw_mask(rng, logits.shape, density)
                got = grammar_masked_argmax(logits, mask)
                for mine, plain in zip(got, numpy_chain(logits, mask), strict=True):
                    np.testing.assert_array_equal(mine, plain)
                ours = least(lambda x=logits, m=mask: grammar_masked_argmax(x, m))
                chain = least(lambda x=logits, m=mask: numpy_chain(x, m))
                count = "" if mask is None else least(lambda m=mask, v=vocabulary: popcount_density(m, v))
                say(vocabulary, rows, density or "no mask", ours, chain, count)


def least(call: Callable[[], object]) -> str:
    # One call a repeat: a longer one would rarely fit between two turns of other programs on a busy machine.
    return f"{min(timeit.repeat(call, number=1, repeat=500)) * 1e6:.0f}"


def numpy_chain(logits: np.ndarray[Any, Any], mask: np.ndarray[Any, Any] | None) -> tuple[Any, ...]:
    if mask is None:
        allowed = np.ones(logits.shape, bool)
    else:
        bits = np.unpackbits(mask.view(np.uint8), axis=1, bitorder="little", count=logits.shape[1])
        allowed = bits.view(bool)
    masked = np.where(allowed, logits, np.float32(-np.inf))
    ids = masked.argmax(axis=1)[:, None]
    top1 = np.take_along_axis(masked, ids, axis=1)[:, 0]
    np.put_along_axis(masked, ids, -np.inf, axis=1)
    counts = allowed.sum(axis=1)
    return np.where(counts, ids[:, 0], -1), top1, masked.max(axis=1), counts


def on_cuda() -> None:
    """Microseconds a call, and the share of the copy bandwidth, of the CUDA forms; and torch's chain."""
    torch = _torch.torch()
    bandwidth = copy_bandwidth()
    sys.stdout.write(
        f"{torch.cuda.get_device_name()}, copy {bandwidth / 1e12:.2f} TB/s, vocabulary 248,320 bf16\n"
    )
    say("rows", "density", "masked argmax us", "of copy bandwidth", "torch chain us", "popcount us")
    say(*["---"] * 6)
    for rows in (1, 6, 8, 12):
        for density in DENSITIES:
            argmax, chain, popcount = time_on_cuda((rows, 248_320), density)
            moved = rows * (248_320 * 2 * (density > 0.9) + 248_320 // 8)
            share = f"{moved / argmax * 1e6 / bandwidth:.0%}" if density > 0.9 else ""
            say(rows, density, f"{argmax:.2f}", share, f"{chain:.1f}", f"{popcount:.2f}")


def time_on_cuda(shape: tuple[int, int], density: float) -> tuple[float, float, float]:
    torch = _torch.torch()
    generator = torch.Generator("cuda").manual_seed(1)
    sets = max(4, min(512, ROTATED_BYTES // (shape[0] * shape[1] * 2)))
    logits = [
        torch.randn(shape, generator=generator, device="cuda", dtype=torch.bfloat16) * 4 for _ in range(sets)
    ]
    rng = np.random.default_rng(2)
    masks = [torch.from_numpy(draw_mask(rng, shape, density)).cuda() for _ in range(min(sets, 16))]
    masks = [masks[i % len(masks)].clone() for i in range(sets)]
    space = cuda.workspace(*shape, "cuda")
    out = MaskedArgmax(*cuda.empty(logits[0], shape[0]))
    counted = popcount_density(masks[0], shape[1])
    grammar_masked_argmax(logits[0], masks[0], out=out, workspace=space)
    check(out, torch_chain(logits[0], masks[0]))
    inputs = list(zip(logits, masks, strict=True))
    return (
        replayed(lambda x, m: grammar_masked_argmax(x, m, out=out, workspace=space), inputs),
        replayed(torch_chain, inputs[:8]),
        replayed(lambda _, m: popcount_density(m, shape[1], out=counted), inputs),
    )


def check(got: MaskedArgmax[Any, Any], plain: tuple[Any, ...]) -> None:
    ids, best, counts = plain
    same = (got.top1 == best[:, 0]) & (got.top2 == best[:, 1]) & (got.counts == counts) & (got.ids == ids)
    if not bool(same.all()):
        raise SystemExit("the kernel and torch disagree: nothing is timed")


def torch_chain(logits: Any, mask: Any) -> tuple[Any, ...]:
    torch = _torch.torch()
    shifts = torch.arange(32, device="cuda", dtype=torch.int32)
    bits = (mask[..., None] >> shifts) & 1
    allowed = bits.reshape(mask.shape[0], -1)[:, : logits.shape[1]].bool()
    masked = logits.float().masked_fill(~allowed, float("-inf"))
    return masked.argmax(1), masked.topk(2, dim=1).values, allowed.sum(1)


def replayed(call: Callable[[Any, Any], object], inputs: list[tuple[Any, Any]]) -> float:
    """Microseconds of one call of `call`, in a graph that calls it once for each of `inputs`."""
    torch = _torch.torch()
    call(*inputs[0])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for pair in inputs:
            call(*pair)
    times = []
    for attempt in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if attempt >= 5:
            times.append(begin.elapsed_time(end) * 1e3 / len(inputs))
    return statistics.median(times)


def copy_bandwidth() -> float:
    """Bytes read and written per second by a device-to-device copy."""
    torch = _torch.torch()
    source = torch.randint(0, 255, (2**31,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return 2 * source.numel() / statistics.median(times)


if __name__ == "__main__":
    {"cpu": cpu, "cuda": on_cuda}[sys.argv[1]]()
