"""A measured cost that learns nothing more: for replays, whose batches take no time that means anything."""

from __future__ import annotations

from velospec.control.policy import Cost


class FrozenCost:
    """Implements `control.policy.Cost` with what another one expects."""

    def __init__(self, cost: Cost) -> None:
        self._cost = cost

    def seconds(self, rows: int, context: int = 0) -> float:
        return self._cost.seconds(rows, context)

    def observe(self, rows: int, context: int, seconds: float) -> None:
        """Learn nothing."""
