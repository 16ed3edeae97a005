"""What a completion will take on this machine: asks the daemon to measure a model, and reads the result."""

from __future__ import annotations

import json
from typing import Any

from velospec.daemon.client import DaemonClient, EventKind, run_sync
from velospec.daemon.protocol import Event
from velospec.models.memory import LINE_TOKENS
from velospec.models.progress import Progress
from velospec.models.store import InstalledModel

FRESH_TOKENS = 32
"""Tokens of the prompt that are new at a request: while typing, the rest of it is in the KV cache."""


def measure(model: InstalledModel, progress: Progress, *, anew: bool = False) -> dict[str, Any]:
    """The model's profile, measured if it is not known yet, or `anew`. Raises VeloSpecError."""

    def show(event: Event) -> None:
        labels = {EventKind.LOADING: "Loading the model", EventKind.MEASURING: "Measuring its speed"}
        if event.model == model.name and event.fraction is not None and event.kind in labels:
            progress(labels[event.kind], round(event.fraction * 100), 100)

    async def ask(client: DaemonClient) -> dict[str, Any]:
        await client.load(model.name)
        status = await client.status()
        known = any(each["name"] == model.name and each["measured"] for each in status["models"])
        profile = stored_profile(model) if known and not anew else None
        return profile or await client.measure(model.name)

    progress("Measuring its speed", 0, 0)
    return run_sync(ask, name="velospec model", on_event=show)


def expected_latency(profile: dict[str, Any]) -> float:
    """Seconds that one line takes while typing, without what speculation saves."""
    reading = FRESH_TOKENS / float(profile["prefill_tokens_per_second"])
    return reading + LINE_TOKENS / float(profile["tokens_per_second"])


def in_a_line(profile: dict[str, Any]) -> str:
    """A profile's speeds in words."""
    return (
        f"{profile['prefill_tokens_per_second']:.0f} tokens/s reading, "
        f"{profile['tokens_per_second']:.0f} tokens/s writing before speculation; "
        f"a line while typing takes at most about {expected_latency(profile):.1f} s"
    )


def exactness(profile: dict[str, Any]) -> str:
    """Whether drafts can change the output, in words."""
    numerics = profile["numerics"]
    return "yes" if numerics["exact"] else f"no: {numerics['reason']}"


def stored_profile(model: InstalledModel) -> dict[str, Any] | None:
    """What was last measured of `model`, from the file beside it; None where there is none to be read."""
    try:
        profile = dict(json.loads((model.folder / "profile.json").read_text("utf-8")))
        in_a_line(profile)
        exactness(profile)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return None
    return profile
