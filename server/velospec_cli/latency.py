"""What a completion will take on this machine: asks the daemon to measure a model, and reads the result."""

from __future__ import annotations

from typing import Any

from velospec.daemon.client import EventKind, run_sync
from velospec.daemon.protocol import Event
from velospec.models.memory import LINE_TOKENS
from velospec.models.progress import Progress
from velospec.models.store import InstalledModel

FRESH_TOKENS = 32
"""Tokens of the prompt that are new at a request: while typing, the rest of it is in the KV cache."""


def measure(model: InstalledModel, progress: Progress) -> dict[str, Any]:
    """The model's profile, measured now. Raises VeloSpecError."""

    def show(event: Event) -> None:
        labels = {EventKind.LOADING: "Loading the model", EventKind.MEASURING: "Measuring its speed"}
        if event.model == model.name and event.fraction is not None and event.kind in labels:
            progress(labels[event.kind], round(event.fraction * 100), 100)

    progress("Measuring its speed", 0, 0)
    return run_sync(lambda client: client.measure(model.name), name="velospec model", on_event=show)


def expected_latency(profile: dict[str, Any]) -> float:
    """Seconds that one line takes while typing, without what speculation saves."""
    reading = FRESH_TOKENS / float(profile["prefill_tokens_per_second"])
    return reading + LINE_TOKENS / float(profile["tokens_per_second"])
