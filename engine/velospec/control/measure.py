"""Measure T(k) on this machine, so that a busy moment cannot pass for a property of the machine.

Each batch size is timed between two batches of one row and counts as a ratio to them: what slows both cancels
out. Rounds go over all sizes in turn, medians drop the outliers, rounds are added while they disagree, and
what cannot be (a batch dearer than its rows one by one, or cheaper than a smaller one) is corrected.
Knows nothing of models: random ids do, since time does not depend on which ids they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

import numpy as np

from velospec.backends.base import Backend
from velospec.control.cost_model import CostModel

ROWS = (2, 3, 4, 6, 8, 12, 16)
"""Batch sizes that are timed, beside 1, as far as the backend takes them."""

CONTEXTS = (48, 512)
"""Context lengths, in tokens, at which they are timed."""

_ROUNDS, _MOST_ROUNDS = 5, 11
_AGREEMENT = 0.12  # of a ratio's median: a wider middle half calls for another round
_SEED = 7

Clock = Callable[[], float]


@dataclass(slots=True)
class _Samples:
    """Times of one context: `single` in seconds, `ratios` by rows."""

    single: list[float]
    ratios: dict[int, list[float]]


def measure_costs(
    backend: Backend, *, progress: Callable[[float], None] | None = None, clock: Clock = time.perf_counter
) -> CostModel:
    """Time batches in slot 0 of `backend` and leave it empty. `progress` is told fractions from 0 to 1.

    Takes the time of some 400 single-row batches. Raises BackendError if a decode fails.
    """
    rows = [count for count in ROWS if count <= backend.max_rows]
    contexts = [length for length in CONTEXTS if length + max(rows) <= backend.context]
    contexts = contexts or [max(1, backend.context - max(rows))]
    timer = _Timer(backend, clock, contexts[-1] + max(rows))
    curves: dict[int, dict[int, float]] = {}
    rates: list[float] = []
    for index, context in enumerate(contexts):
        rates.append(timer.fill_to(context))
        samples = _measure_at(timer, rows, context)
        curves[context] = _curve(samples)
        if progress:
            progress((index + 1) / len(contexts))
    backend.truncate(0, 0)
    return CostModel(curves, prefill_rate=rates[-1])


class _Timer:
    """Times single calls of the backend on slot 0."""

    def __init__(self, backend: Backend, clock: Clock, length: int) -> None:
        self._backend = backend
        self._clock = clock
        generator = np.random.default_rng(_SEED)
        self._ids: list[int] = generator.integers(0, backend.vocabulary.size, length).tolist()
        self._filled = 0
        backend.truncate(0, 0)

    def fill_to(self, context: int) -> float:
        """Prefill up to `context`; tokens per second."""
        ids = self._ids[self._filled : context]
        started = self._clock()
        self._backend.prefill(0, ids, self._filled)
        elapsed = self._clock() - started
        self._filled = context
        return len(ids) / elapsed

    def decode(self, rows: int) -> float:
        """Seconds of one batch of `rows` rows at the filled context, which is left as it was."""
        context = self._filled
        ids = self._ids[context : context + rows]
        started = self._clock()
        self._backend.decode(0, ids, context)
        elapsed = self._clock() - started
        self._backend.truncate(0, context)
        return elapsed


def _measure_at(timer: _Timer, rows: Sequence[int], context: int) -> _Samples:
    samples = _Samples([], {count: [] for count in rows})
    for count in (1, *rows):  # the first batch of each size builds its graph
        timer.decode(count)
    for done in range(_MOST_ROUNDS):
        if done >= _ROUNDS and _agree(samples):
            break
        shift = (done + context) % len(rows)
        before = timer.decode(1)
        for count in (*rows[shift:], *rows[:shift]):
            elapsed = timer.decode(count)
            after = timer.decode(1)
            samples.ratios[count].append(2 * elapsed / (before + after))
            samples.single.append(after)
            before = after
    return samples


def _agree(samples: _Samples) -> bool:
    for ratios in samples.ratios.values():
        low, middle, high = quantiles(ratios, n=4)
        if high - low > _AGREEMENT * middle:
            return False
    return True


def _curve(samples: _Samples) -> dict[int, float]:
    """Seconds by rows; a ratio is at least 1 and at most its number of rows."""
    single = median(samples.single)
    ratios = {count: min(max(median(values), 1.0), float(count)) for count, values in samples.ratios.items()}
    return {1: single, **{count: single * ratio for count, ratio in ratios.items()}}
