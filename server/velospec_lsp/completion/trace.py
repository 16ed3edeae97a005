"""What each stage of one completion took, and which one ended it: for the user who asks why nothing came."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from velospec.core.statistics import Statistics


@dataclass(slots=True)
class Trace:
    """The stages gone through, in order, with their milliseconds; `reason` is empty for an offer."""

    stages: list[tuple[str, float]] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # what a stage has to tell besides, by stage; no text
    reason: str = ""
    model: dict[str, Any] = field(default_factory=dict)  # tokens and passes; empty if it was not asked

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times what runs inside as the stage `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages.append((name, 1000 * (time.perf_counter() - started)))

    def asked(self, statistics: Statistics) -> None:
        """Keep what an answer of the model took."""
        names = ("prompt_tokens", "reused_tokens", "new_tokens", "steps")
        self.model = {name: getattr(statistics, name) for name in names}
        drafted = statistics.proposers.items()
        self.model["accepted"] = {name: count.accepted for name, count in drafted if count.accepted}
        self.notes["model"] = (
            f"{statistics.reused_tokens} of the prompt's {statistics.prompt_tokens} tokens were read before; "
            f"reading took {1000 * statistics.prefill_seconds:.0f} ms, "
            f"writing {statistics.new_tokens} in {statistics.steps} passes "
            f"{1000 * statistics.decode_seconds:.0f} ms"
        )

    @property
    def last(self) -> str:
        """The stage that ended the matter; empty before the first."""
        return self.stages[-1][0] if self.stages else ""

    @property
    def milliseconds(self) -> float:
        """What all of them took."""
        return sum(taken for _, taken in self.stages)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for the reply to the command."""
        stages = [
            {"stage": name, "ms": round(taken, 2), "note": self.notes.get(name, "")}
            for name, taken in self.stages
        ]
        return {
            "reason": self.reason,
            "stage": self.last,
            "ms": round(self.milliseconds, 2),
            "stages": stages,
            "model": dict(self.model),
        }

    def describe(self) -> str:
        """One sentence, then one line for each stage with its time."""
        lines = [self.reason or "Something was offered."]
        for name, taken in self.stages:
            note = f"  ({self.notes[name]})" if name in self.notes else ""
            lines.append(f"  {name:<10} {taken:8.1f} ms{note}")
        return "\n".join(lines)
