"""Drawing one token from logits: temperature, top-k, top-p and min-p in this order, then the draw itself.

Each filter keeps the likeliest tokens, of equally likely ones those with the lowest ids, and is told the
logits that the filters before it left; probabilities are always of what is left. The order is that of the
transformers library. The draw inverts the cumulative distribution, taken in the order of the ids, at a number
from 0 to 1. Knows nothing of seeds, penalties, drafts or constraints.

No step sorts the vocabulary. A row of 49,000 (152,000) logits costs, with its copy and margin,
0.08 (0.2) ms with no filter, 0.06 (0.12) with top-k 40, 0.11 (0.25) with top-p 0.95, 0.04 (0.08) with min-p,
and ten times that in the worst case, a top-p of thousands of tokens.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from velospec.core.request import Sampling
from velospec.verify.candidates import Places, Row

_MOST_IN_GROUP = 64
_LEAST_GROUPS_PER_KEPT = 4  # with fewer groups than this, too many values exceed the least of their maxima
_USUAL_NUCLEUS = (64, 1024)  # tokens; nearly always more than have the share wanted
_BUCKET_SHIFT = 16  # what is left of a float32 above these bits sorts positive numbers into steps of 1 %
_BLOCK = 512


def draw(values: Row, best: float, sampling: Sampling, uniform: float) -> int:
    """The place drawn from `values`.

    Args:
        values: Logits, float32, shape [candidates], none NaN; -inf for what is not to be drawn. Used up.
        best: The largest of them, finite.
        sampling: With a temperature above 0.
        uniform: From 0 up to but not 1; each token's probability is the share of these that draw it.
    """
    kept: Places | None = None
    if 0 < sampling.top_k < values.size:
        kept = largest(values, sampling.top_k)
        values = values[kept]
    if sampling.min_p > 0 and sampling.top_p >= 1:  # with no top-p before it, min-p needs no probabilities
        least = best + sampling.temperature * math.log(sampling.min_p)
        kept, values = _narrow(kept, values, np.flatnonzero(values >= least))
    # In place: each new array of this size costs a page fault for every 1,024 values.
    values -= np.float32(best)
    values /= sampling.temperature
    weights = np.exp(values, out=values)  # the largest is 1
    if sampling.top_p < 1:
        kept, weights = _narrow(kept, weights, nucleus(weights, sampling.top_p))
        if sampling.min_p > 0:
            kept, weights = _narrow(kept, weights, np.flatnonzero(weights >= sampling.min_p))
    place = invert(weights, uniform)
    return place if kept is None else int(kept[place])


def largest(values: Row, count: int) -> Places:
    """The ascending places of the `count` largest of `values`, the lowest places on ties. No value is NaN.

    The `count`-th largest of the maxima of any groups is no larger than the `count`-th largest value: little
    more than what is wanted is at least as large.
    """
    if count >= values.size:
        return np.arange(values.size)
    pool = _maxima(values, count)
    floor = np.partition(pool, pool.size - count)[pool.size - count]
    places = np.flatnonzero(values >= floor)
    if places.size > count:
        order = np.argsort(-values[places], kind="stable")
        places = np.sort(places[order[:count]])
    return places


def nucleus(weights: Row, share: float) -> Places:
    """The ascending places of the fewest largest of `weights` that sum to at least `share` of them all.

    Of equal ones those with the lowest places. No weight is negative or NaN.
    """
    goal = share * float(weights.sum())
    for count in _USUAL_NUCLEUS:
        places = largest(weights, count)
        cut = _reaching(weights[places], goal)
        if cut.size < count:
            return np.sort(places[cut])
    return _wide_nucleus(weights, goal)


def _wide_nucleus(weights: Row, goal: float) -> Places:
    """As `nucleus`, for any number of places: whole buckets of similar weights, then part of one."""
    buckets = (weights.view(np.uint32) >> _BUCKET_SHIFT).astype(np.intp)
    mass = np.bincount(buckets, weights=weights)
    mass_from = np.cumsum(mass[::-1])[::-1]  # [b]: of bucket b and all with larger weights
    last = max(int(np.count_nonzero(mass_from >= goal)) - 1, 0)
    rest = np.flatnonzero(buckets == last)
    kept = buckets > last
    kept[rest[_reaching(weights[rest], goal - (mass_from[last] - mass[last]))]] = True
    return np.flatnonzero(kept)


def _reaching(weights: Row, goal: float) -> Places:
    """The places of the fewest largest of `weights` that sum to `goal`, from the largest; all if none do."""
    order = np.argsort(-weights, kind="stable")
    mass = np.cumsum(weights[order], dtype=np.float64)
    reaching: Places = order[: int(np.searchsorted(mass, goal)) + 1]
    return reaching


def invert(weights: Row, uniform: float) -> int:
    """The place at which the running sum of `weights` exceeds the part `uniform` of their sum.

    Blocks are summed first, so that only one of them is summed up one by one. Never a place of weight 0.
    """
    sums = np.add.reduceat(weights, np.arange(0, weights.size, _BLOCK))
    mass = np.cumsum(sums, dtype=np.float64)
    target = uniform * mass[-1]
    block = _exceeds(mass, target)
    inner = np.cumsum(weights[block * _BLOCK : (block + 1) * _BLOCK], dtype=np.float64)
    return block * _BLOCK + _exceeds(inner, target - (mass[block - 1] if block else 0.0))


def _exceeds(mass: npt.NDArray[np.float64], target: float) -> int:
    """The first place with more than `target`; where rounding leaves none, the last that adds to `mass`."""
    place = int(np.searchsorted(mass, target, side="right"))
    return place if place < mass.size else int(np.searchsorted(mass, mass[-1]))


def _maxima(values: Row, count: int) -> Row:
    """The largest values of groups, which are many more than `count`; `values` itself where they are few."""
    size = min(_MOST_IN_GROUP, values.size // (_LEAST_GROUPS_PER_KEPT * count))
    if size < 2:
        return values
    whole = values.size // size * size
    maxima: Row = (
        values[:whole].reshape(size, -1).max(axis=0)
    )  # every size-th value: 20 times faster than runs
    return maxima


def _narrow(kept: Places | None, values: Row, places: Places) -> tuple[Places, Row]:
    """`values` at `places`, and where these stand in the whole, of which `values` are those at `kept`."""
    return (places if kept is None else kept[places]), values[places]
