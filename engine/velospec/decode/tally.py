"""The counts and times of one request while it runs; becomes `core.Statistics` at its end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from velospec.core.draft import Verdict
from velospec.core.statistics import Statistics


@dataclass(slots=True)
class Tally:
    """Mutable counters; times in seconds, on the clock of `time.perf_counter`."""

    prompt_tokens: int
    reused_tokens: int
    started: float = field(default_factory=time.perf_counter)
    prefilled_tokens: int = 0
    prefilled: float = 0.0
    first_token: float = 0.0
    steps: int = 0
    drafted: list[int] = field(default_factory=list)  # [i]: drafts that had a position i
    accepted: list[int] = field(default_factory=list)  # [i]: drafts whose position i was accepted

    def end_prefill(self) -> None:
        self.prefilled = time.perf_counter()

    def step(self, verdict: Verdict) -> None:
        if not self.steps:
            self.first_token = time.perf_counter()
        self.steps += 1
        length = len(verdict.draft)
        if length > len(self.drafted):
            self.drafted += [0] * (length - len(self.drafted))
            self.accepted += [0] * (length - len(self.accepted))
        for position in range(length):
            self.drafted[position] += 1
        for position in range(verdict.accepted):
            self.accepted[position] += 1

    def statistics(self, new_tokens: int) -> Statistics:
        """What was counted so far; `new_tokens` is the number of ids decided up to the end."""
        now = time.perf_counter()
        prefilled = self.prefilled or now
        return Statistics(
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            prefilled_tokens=self.prefilled_tokens,
            steps=self.steps,
            new_tokens=new_tokens,
            drafted_tokens=sum(self.drafted),
            accepted_tokens=sum(self.accepted),
            prefill_seconds=prefilled - self.started,
            decode_seconds=now - prefilled,
            first_token_seconds=self.first_token - self.started if self.steps else 0.0,
            accepted_at=tuple(self.accepted),
            drafted_at=tuple(self.drafted),
        )
