"""Weights of an online logistic regression: what each thing known of a guess adds to its log odds.

Every weight keeps how much it was tried (the curvature of the likelihood, which fades) and moves by a Newton
step of its own: a new one learns fast, a tried one slowly, and none ever stops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

_FIRMNESS = 10.0  # variance of outcomes that a weight's first value counts for
MEMORY = 0.99
"""What an outcome leaves of the curvature before it; with 1 nothing is forgotten, as for fitting."""

_LIMIT = 4.0  # most that one weight moves the log odds
_MOST_LOGIT = 8.0  # beyond it nothing is learned but rounding


class Weight:
    """One weight, in log odds."""

    __slots__ = ("_firmness", "_memory", "tried", "value")

    def __init__(self, value: float = 0.0, *, firmness: float = _FIRMNESS, memory: float = MEMORY) -> None:
        self.value = value
        self.tried = 0.0
        self._firmness = firmness
        self._memory = memory

    def learn(self, surprise: float, variance: float) -> None:
        """Move by an outcome: `surprise` is 0 or 1 less the chance, `variance` the chance times the rest."""
        self.tried = self.tried * self._memory + variance
        value = self.value + surprise / (self.tried + self._firmness)
        self.value = max(-_LIMIT, min(_LIMIT, value))


class Weights:
    """Weights by name, made when first asked for."""

    def __init__(self, shipped: Mapping[str, float] | None = None, *, memory: float = MEMORY) -> None:
        """`shipped` are first values by name."""
        self._shipped = shipped or {}
        self._memory = memory
        self._all: dict[str, Weight] = {}

    def get(self, name: str, otherwise: float = 0.0) -> Weight:
        """The weight of that name; it begins with the shipped value, or with `otherwise`."""
        known = self._all.get(name)
        if known is None:
            known = self._all[name] = Weight(self._shipped.get(name, otherwise), memory=self._memory)
        return known

    def to_dict(self) -> dict[str, list[float]]:
        """Value and curvature of each weight that was ever tried; JSON-ready."""
        return {
            name: [round(weight.value, 4), round(weight.tried, 3)]
            for name, weight in sorted(self._all.items())
            if weight.tried
        }

    def restore(self, data: Mapping[str, Iterable[float]]) -> None:
        """Take over what `to_dict` gave. Raises ValueError or TypeError on anything else."""
        for name, pair in data.items():
            value, tried = (float(number) for number in pair)
            if not math.isfinite(value) or not 0 <= tried < math.inf:
                raise ValueError(f"the weight {name!r} has no usable numbers")
            weight = self.get(name)
            weight.value, weight.tried = value, tried


def chance_of(logit: float) -> float:
    """The chance, strictly between 0 and 1, with these log odds."""
    return 1 / (1 + math.exp(-max(-_MOST_LOGIT, min(_MOST_LOGIT, logit))))


def logit_of(chance: float) -> float:
    """The log odds of a chance; of 0 and 1 the largest that are told apart."""
    chance = max(3e-4, min(1 - 3e-4, chance))
    return math.log(chance / (1 - chance))
