"""Fast mode's setting: the KV type and attention under which this build decodes fastest, rows alone allowed.

Speed alone decides here; whether batch shapes agree is the business of `exact`. Times are the least of
several, since a busy machine can only add to them. Knows nothing of drafts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from velospec.verify.exact import SETTINGS, Configurable, Numerics

_CONTEXT = 256  # positions before the timed batches: enough for attention to count
_ROWS = 8  # of the batches that stand for drafts
_BATCHES = 5  # timed of either kind, behind one that builds the graph
_LENGTH = _CONTEXT + (_BATCHES + 1) * (1 + _ROWS)
_ROUNDS = 2
_SEED = 20240301


def fastest(
    backend: Configurable,
    progress: Callable[[float], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Numerics:
    """Find the setting with the least time for a row alone and a batch of several together.

    Leaves `backend` configured with it, all slots empty; `progress` is told fractions from 0 to 1. Reads some
    2,000 ids and decodes 100 batches. A context too short for that gets the first setting.

    Raises:
        BackendError: a decode failed.
    """
    report = progress or (lambda _fraction: None)
    seconds = dict.fromkeys(SETTINGS, math.inf)
    trials = [setting for _ in range(_ROUNDS) for setting in SETTINGS] if backend.context >= _LENGTH else []
    for done, setting in enumerate(trials, 1):
        _configure(backend, setting)
        seconds[setting] = min(seconds[setting], _time(backend, clock))
        report(done / len(trials))
    best = min(SETTINGS, key=seconds.__getitem__)  # the first of equals
    _configure(backend, best)
    report(1.0)
    return Numerics(*best, reason="fast mode lets one row run alone, by other kernels than several")


def _configure(backend: Configurable, setting: tuple[str, bool]) -> None:
    kv_type, flash_attention = setting
    backend.configure(kv_type=kv_type, flash_attention=flash_attention, min_rows=1)


def _time(backend: Configurable, clock: Callable[[], float]) -> float:
    """Least seconds of a row alone plus least seconds of a batch, in the empty slot 0."""
    ids: list[int] = np.random.default_rng(_SEED).integers(0, backend.vocabulary.size, _LENGTH).tolist()
    backend.prefill(0, ids[:_CONTEXT], 0)
    position = _CONTEXT
    total = 0.0
    for rows in (1, _ROWS):
        times = []
        for _ in range(_BATCHES + 1):
            started = clock()
            backend.decode(0, ids[position : position + rows], position)
            times.append(clock() - started)
            position += rows
        total += min(times[1:])
    return total
