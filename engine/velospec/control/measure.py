"""Measure T(k) on this machine, so that a busy moment cannot pass for a property of the machine.

Each batch size is timed between two batches of one row and counts as a ratio to the quicker of them: what
slows them alike cancels out, and a burst during one of them does no harm. Rounds go over all sizes in turn,
medians drop the outliers, rounds are added while they disagree, and what cannot be (a batch dearer than its
rows one by one, or cheaper than a smaller one) is corrected.
Knows nothing of models: random ids do, since time does not depend on which ids they are.
"""

from __future__ import annotations

import math
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
_DISAGREEMENT = 0.5  # a middle half this wide is no measurement
_SEED = 7

Clock = Callable[[], float]


@dataclass(slots=True)
class _Samples:
    """Times of one context: `single` in seconds, `ratios` by rows."""

    single: list[float]
    ratios: dict[int, list[float]]


def measure_costs(
    backend: Backend,
    *,
    limit: float = 20.0,
    progress: Callable[[float], None] | None = None,
    clock: Clock = time.perf_counter,
) -> CostModel:
    """Time batches in slot 0 of `backend` and leave it empty. `progress` is told fractions from 0 to 1.

    Takes the time of some 400 single-row batches; no round begins after `limit` seconds. Where the rounds
    disagree widely, or time allowed only one, the result has the default's shape, takes from here only the
    time of one row, and says that it is not `measured`: measure again at a quieter moment.

    Raises:
        BackendError: a decode failed.
    """
    rows = [count for count in ROWS if count <= backend.max_rows]
    contexts = [length for length in CONTEXTS if length + max(rows) <= backend.context]
    contexts = contexts or [max(1, backend.context - max(rows))]
    timer = _Timer(backend, clock, contexts[-1] + max(rows))
    started = clock()
    curves: dict[int, dict[int, float]] = {}
    rates: list[float] = []
    spread = 0.0
    for index, context in enumerate(contexts):
        rates.append(timer.fill_to(context))
        share = (index + 1) / len(contexts)
        samples = _measure_at(timer, rows, context, started + limit * share)
        curves[context] = _curve(samples)
        spread = max(spread, _spread(samples))
        if progress:
            progress(share)
    backend.truncate(0, 0)
    measured = spread < _DISAGREEMENT
    if not measured:
        curves = {context: _default_shape(context, curve[1]) for context, curve in curves.items()}
    return CostModel(curves, prefill_rate=rates[-1], measured=measured)


class _Timer:
    """Times single calls of the backend on slot 0."""

    def __init__(self, backend: Backend, clock: Clock, length: int) -> None:
        self._backend = backend
        self._clock = clock
        generator = np.random.default_rng(_SEED)
        self._ids: list[int] = generator.integers(0, backend.vocabulary.size, length).tolist()
        self._filled = 0
        backend.truncate(0, 0)

    def now(self) -> float:
        return self._clock()

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


def _measure_at(timer: _Timer, rows: Sequence[int], context: int, until: float) -> _Samples:
    samples = _Samples([], {count: [] for count in rows})
    for count in (1, *rows):  # the first batch of each size builds its graph
        timer.decode(count)
    for done in range(_MOST_ROUNDS):
        if done and (timer.now() >= until or (done >= _ROUNDS and _spread(samples) < _AGREEMENT)):
            break
        shift = (done + context) % len(rows)
        before = timer.decode(1)
        for count in (*rows[shift:], *rows[:shift]):
            elapsed = timer.decode(count)
            after = timer.decode(1)
            samples.ratios[count].append(elapsed / min(before, after))
            samples.single.append(after)
            before = after
    return samples


def _spread(samples: _Samples) -> float:
    """Width of the middle half of the ratios, as a share of their median; the widest of all sizes."""
    if any(len(ratios) < 2 for ratios in samples.ratios.values()):
        return math.inf
    parts = (quantiles(ratios, n=4, method="inclusive") for ratios in samples.ratios.values())
    return max((high - low) / middle for low, middle, high in parts)


def _curve(samples: _Samples) -> dict[int, float]:
    """Seconds by rows; a ratio is at least 1 and at most its number of rows."""
    single = median(samples.single)
    ratios = {count: min(max(median(values), 1.0), float(count)) for count, values in samples.ratios.items()}
    return {1: single, **{count: single * ratio for count, ratio in ratios.items()}}


def _default_shape(context: int, single: float) -> dict[int, float]:
    default = CostModel.default()
    return {
        rows: single * default.seconds(rows, context) / default.seconds(1, context) for rows in (1, *ROWS)
    }
