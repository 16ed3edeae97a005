"""The counts and times of one request while it runs; becomes `core.Statistics` at its end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from velospec.constraints.base import GrammarCursor
from velospec.core.statistics import ProposerCount, Statistics
from velospec.core.step import Step


@dataclass(slots=True)
class Tally:
    """Mutable counters; times in seconds, on the clock of `time.perf_counter`. Lists grow as needed."""

    prompt_tokens: int
    reused_tokens: int
    started: float = field(default_factory=time.perf_counter)
    prefilled_tokens: int = 0
    prefilled: float = 0.0
    first_token: float = 0.0
    steps: int = 0
    propose_seconds: float = 0.0
    score_seconds: float = 0.0
    decide_seconds: float = 0.0
    drafted: list[int] = field(default_factory=list)  # [i]: drafts that had a position i
    accepted: list[int] = field(default_factory=list)  # [i]: drafts whose position i was accepted
    rows: list[int] = field(default_factory=list)  # [k]: batches of k rows
    scored_at: list[float] = field(default_factory=list)  # [k]: their seconds in the model
    expected_at: list[float] = field(default_factory=list)  # [k]: the seconds expected of them
    proposers: dict[str, list[int]] = field(default_factory=dict)  # batches, drafted, accepted

    def end_prefill(self) -> None:
        self.prefilled = time.perf_counter()

    def step(self, step: Step) -> None:
        """Count one step. About two microseconds."""
        if not self.steps:
            self.first_token = time.perf_counter()
        self.steps += 1
        self.propose_seconds += step.propose_seconds
        self.score_seconds += step.score_seconds
        self.decide_seconds += step.decide_seconds
        self._count_rows(step)
        if step.verdict.draft.ids:
            self._count_draft(step)

    def statistics(self, new_tokens: int, grammar: GrammarCursor | None = None) -> Statistics:
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
            propose_seconds=self.propose_seconds,
            score_seconds=self.score_seconds,
            decide_seconds=self.decide_seconds,
            grammar_seconds=grammar.seconds if grammar is not None else 0.0,
            forced_tokens=grammar.forced_tokens if grammar is not None else 0,
            accepted_at=tuple(self.accepted),
            drafted_at=tuple(self.drafted),
            rows=tuple(self.rows),
            scored_seconds_at=tuple(self.scored_at),
            expected_seconds_at=tuple(self.expected_at),
            proposers={name: ProposerCount(*counts) for name, counts in self.proposers.items()},
        )

    def _count_rows(self, step: Step) -> None:
        missing = step.rows + 1 - len(self.rows)
        if missing > 0:
            self.rows += [0] * missing
            self.scored_at += [0.0] * missing
            self.expected_at += [0.0] * missing
        self.rows[step.rows] += 1
        self.scored_at[step.rows] += step.score_seconds
        self.expected_at[step.rows] += step.expected_seconds

    def _count_draft(self, step: Step) -> None:
        length, accepted = len(step.verdict.draft), step.verdict.accepted
        missing = length - len(self.drafted)
        if missing > 0:
            self.drafted += [0] * missing
            self.accepted += [0] * missing
        for position in range(length):
            self.drafted[position] += 1
        for position in range(accepted):
            self.accepted[position] += 1
        counts = self.proposers.setdefault(step.verdict.draft.proposer, [0, 0, 0])
        counts[0] += 1
        counts[1] += length
        counts[2] += accepted
