"""Times the numpy forms of the kernels, each beside numpy's plain chain, after checking that they agree.

    PYTHONPATH=kernels python3 -m tests.benchmarks.bench_kernels

The least of many repeats, since a shared machine only ever adds time. The forms for GPUs are measured by
`velospec benchmark kernels`.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.kernel_cases import draw_mask, draw_values
from velospec_kernels.grammar_masked_argmax import grammar_masked_argmax
from velospec_kernels.popcount_density import popcount_density

DENSITIES = (1e-4, 0.02, 0.98)


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


if __name__ == "__main__":
    cpu()
