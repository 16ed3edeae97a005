"""T(k): the seconds that a batch of k rows takes, by context length; measured once, refined in use.

A curve is kept at two context lengths and interpolated between. Use refines it slowly: a common scale for
what slows all batches alike (a busy machine, a cooler clock) and one factor per row count for its shape, both
bounded so that a stalled step teaches little. Knows nothing of drafts or tokens. One thread at a time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

# The scale must move much faster than the shape: most batches have few rows, and when the whole machine
# changes its speed, what the scale has not caught up with would pass for a property of those row counts.
_SCALE_RATE = 0.2  # share of a surprise that moves the common scale
_SHAPE_RATE = 0.005  # share that moves the factor of one row count
_SURPRISE = 0.4  # most that one observation counts for, in log seconds: a stall is no news
_SHAPE_LIMIT = math.log(1.6)

# The dearer of two measured machines (two AVX2 cores, a 135M model), so that an unmeasured machine drafts too
# little rather than too much. Only the shape matters until something is measured.
_DEFAULT_CURVES = {
    48: {1: 0.0154, 2: 0.0308, 3: 0.0412, 4: 0.0416, 6: 0.0500, 8: 0.0508, 12: 0.0732, 16: 0.0916},
    512: {1: 0.0197, 2: 0.0351, 3: 0.0451, 4: 0.0485, 6: 0.0611, 8: 0.0664, 12: 0.0961, 16: 0.1221},
}
_DEFAULT_PREFILL_RATE = 340.0


class CostModel:
    """Seconds by rows and context. `measured` tells a curve of this machine from the built-in default.

    `prefill_rate` is in tokens per second, without logits, at the longer context.
    """

    def __init__(
        self,
        curves: Mapping[int, Mapping[int, float]],
        *,
        prefill_rate: float = _DEFAULT_PREFILL_RATE,
        measured: bool = True,
    ) -> None:
        """`curves`: context length -> rows -> seconds. One or two contexts, each with a time of one row.

        Raises:
            ValueError: a curve is missing, or a time is not a positive number.
        """
        _validate(curves, prefill_rate)
        self.curves = {context: dict(sorted(curves[context].items())) for context in sorted(curves)}
        self.prefill_rate = prefill_rate
        self.measured = measured
        self.max_rows = max(max(curve) for curve in self.curves.values())
        dense = [_dense(curve, self.max_rows) for curve in self.curves.values()]
        self._short, self._long = dense[0], dense[-1]
        self._contexts = (min(self.curves), max(self.curves))
        self._scale = 0.0  # log of the common factor
        self._shape = [0.0] * (self.max_rows + 1)  # logs, by rows
        self._factors = [1.0] * (self.max_rows + 1)  # exp(scale + shape), by rows

    @classmethod
    def default(cls) -> CostModel:
        """A cautious curve for a machine that has not been measured."""
        return cls(_DEFAULT_CURVES, measured=False)

    def seconds(self, rows: int, context: int = 0) -> float:
        """Expected seconds of one batch of `rows` >= 1 rows after `context` positions.

        Beyond the measured rows or contexts the curve goes on straight.
        """
        index = min(rows, self.max_rows)
        base = self._at(index, context)
        if rows > index:
            base += (rows - index) * max(0.0, base - self._at(max(1, index - 1), context))
        return base * self._factors[index]

    def prefill_seconds(self, tokens: int) -> float:
        """Expected seconds to read `tokens` prompt tokens."""
        return tokens / self.prefill_rate * self._factors[self.max_rows]

    def observe(self, rows: int, context: int, seconds: float) -> None:
        """Take note that one batch took `seconds`. A few microseconds."""
        if rows < 1 or seconds <= 0:
            return
        surprise = math.log(seconds / self.seconds(rows, context))
        surprise = max(-_SURPRISE, min(_SURPRISE, surprise))
        self._scale += _SCALE_RATE * surprise
        index = min(rows, self.max_rows)
        for near, share in ((index - 1, 0.5), (index, 1.0), (index + 1, 0.5)):
            if 1 <= near <= self.max_rows:
                moved = self._shape[near] + share * _SHAPE_RATE * surprise
                self._shape[near] = max(-_SHAPE_LIMIT, min(_SHAPE_LIMIT, moved))
        self._update_factors()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; what was refined in use is part of it."""
        return {
            "curves": {str(context): _text_keys(curve) for context, curve in self.curves.items()},
            "prefill_rate": self.prefill_rate,
            "measured": self.measured,
            "scale": self._scale,
            "shape": self._shape[1:],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CostModel:
        """Rebuild what `to_dict` gave. Raises ValueError or KeyError on data that is not that."""
        curves = {int(context): _number_keys(curve) for context, curve in data["curves"].items()}
        model = cls(curves, prefill_rate=float(data["prefill_rate"]), measured=bool(data["measured"]))
        shape = [float(value) for value in data["shape"]]
        if len(shape) != model.max_rows or not all(map(math.isfinite, (*shape, data["scale"]))):
            raise ValueError("the refinements do not fit the curve")
        model._scale = float(data["scale"])
        model._shape[1:] = shape
        model._update_factors()
        return model

    def _at(self, rows: int, context: int) -> float:
        low, high = self._contexts
        short = self._short[rows]
        if high == low or context <= low:
            return short
        return short + (self._long[rows] - short) * (context - low) / (high - low)

    def _update_factors(self) -> None:
        """Factors by rows, such that no batch is cheaper than a smaller one."""
        floor = 0.0
        for rows in range(1, self.max_rows + 1):
            factor = math.exp(self._scale + self._shape[rows])
            time = max(self._short[rows] * factor, floor)
            self._factors[rows] = time / self._short[rows]
            floor = time


def _validate(curves: Mapping[int, Mapping[int, float]], prefill_rate: float) -> None:
    if not 1 <= len(curves) <= 2:
        raise ValueError(f"need curves at one or two contexts, not {len(curves)}")
    if any(1 not in curve or min(curve) < 1 for curve in curves.values()):
        raise ValueError("each curve needs a time of one row")
    times = [time for curve in curves.values() for time in curve.values()]
    if not all(math.isfinite(time) and time > 0 for time in (*times, prefill_rate)):
        raise ValueError("times and rates must be positive numbers")


def _dense(curve: Mapping[int, float], max_rows: int) -> list[float]:
    """Seconds by rows 0 to `max_rows` (0 unused): measured points joined by lines, never falling."""
    rows = sorted(curve)
    times = _never_falling([curve[row] for row in rows])
    return [times[0], *(_interpolate(rows, times, row) for row in range(1, max_rows + 1))]


def _interpolate(rows: Sequence[int], times: Sequence[float], row: int) -> float:
    if len(rows) == 1:
        return times[0] * row
    right = min(max(bisect_right(rows, row), 1), len(rows) - 1)
    left = right - 1
    slope = (times[right] - times[left]) / (rows[right] - rows[left])
    return times[left] + slope * (row - rows[left])


def _never_falling(times: Sequence[float]) -> list[float]:
    """The closest never-falling sequence in the least-squares sense (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []  # mean, count
    for time in times:
        mean, count = time, 1
        while blocks and blocks[-1][0] > mean:
            other, others = blocks.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


def _text_keys(curve: Mapping[int, float]) -> dict[str, float]:
    return {str(rows): time for rows, time in curve.items()}


def _number_keys(curve: Mapping[str, float]) -> dict[int, float]:
    return {int(rows): float(time) for rows, time in curve.items()}
