"""The figures of the suite `latency`: one row for each request, and what the rows come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import quantiles
from typing import Any


class Kind(StrEnum):
    """What a request was for."""

    COLD = "cold"  # in a document that was just opened
    WARM = "warm"  # after one more character that is not the next one offered: the model is asked
    TYPED = "typed"  # after one more character of what is offered
    SUPERSEDED = "superseded"  # a newer request follows before it is answered


@dataclass(frozen=True, slots=True)
class Row:
    """One request; times in milliseconds from sending it to having its answer.

    Of a superseded one the time counts from sending the newer one. `model_calls` is 1 if the model was asked.
    """

    place: str
    kind: Kind
    ms: float
    offered: bool
    model_calls: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    new_tokens: int = 0
    steps: int = 0
    rival_ms: float | None = None
    rival_line_ms: float | None = None  # to the end of the rival's first line
    rival_tokens: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        told = {key: value for key, value in asdict(self).items() if value is not None}
        return {key: round(value, 2) if isinstance(value, float) else value for key, value in told.items()}


def summarize(rows: Sequence[Row]) -> dict[str, Any]:
    """Percentiles by kind, ratios to the rival on the same requests, and counts. JSON-ready."""
    summary: dict[str, Any] = {}
    for kind in Kind:
        times = [row.ms for row in rows if row.kind is kind]
        if times:
            summary[kind.value] = {"requests": len(times), **percentiles(times)}
    both = [row for row in rows if row.kind is Kind.WARM and row.rival_ms is not None]
    if both:
        summary |= _against_rival(both)
    typed = [row for row in rows if row.kind is Kind.TYPED]
    warm = [row for row in rows if row.kind is Kind.WARM]
    summary["typed_through_p50_ms"] = summary["typed"]["p50_ms"] if typed else None
    summary["typed_through_model_calls"] = sum(row.model_calls for row in typed)
    prompt = sum(row.prompt_tokens for row in warm)
    reused = sum(row.reused_tokens for row in warm)
    summary["prefix_reused"] = round(reused / prompt, 4) if prompt else None
    return summary


def _against_rival(rows: Sequence[Row]) -> dict[str, Any]:
    """How many times as fast as the rival, at the median and the 90th percentile of each."""
    ours = percentiles([row.ms for row in rows])
    theirs = percentiles([row.rival_ms for row in rows if row.rival_ms is not None])
    line = percentiles([row.rival_line_ms for row in rows if row.rival_line_ms is not None])
    return {
        "rival": {"requests": len(rows), **theirs},
        "rival_first_line": line,
        **{
            f"vs_rival_{name}": round(theirs[f"{name}_ms"] / ours[f"{name}_ms"], 2) for name in ("p50", "p90")
        },
        **{
            f"vs_rival_first_line_{name}": round(line[f"{name}_ms"] / ours[f"{name}_ms"], 2)
            for name in ("p50", "p90")
        },
    }


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """p50, p90 and p99 of at least one time, interpolated between neighbours."""
    cuts = quantiles([*times, *times] if len(times) == 1 else times, n=100, method="inclusive")
    return {f"p{share}_ms": round(cuts[share - 1], 2) for share in (50, 90, 99)}
