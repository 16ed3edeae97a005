"""One decode step as seen from outside: what traces and displays are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from velospec.core.draft import Draft, Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """What was offered, scored and decided in one pass of the model. Times are in seconds."""

    verdict: Verdict
    offered: tuple[Draft, ...]  # all that could have been scored, uncut
    rows: int  # of the batch
    context: int  # positions in the KV cache before it
    propose_seconds: float  # drafting and choosing
    score_seconds: float  # in the model
    decide_seconds: float  # comparing with the target, and learning from it
    expected_seconds: float  # what the cost model expected of the batch
    density: float = 1.0  # known share of the vocabulary that the grammar allowed; 1 without one


OnStep = Callable[[Step], None]
"""Told of each step after its ids were taken; what it raises ends the request."""
