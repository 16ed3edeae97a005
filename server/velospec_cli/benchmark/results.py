"""Figures from runs: one row for each prompt, and what they come to.

A speed-up is VeloSpec's tokens per second over those of single-row decoding without drafts on the same
prompt, formed in each round from two runs that follow each other closely; a row has the median over the
rounds. Reading the prompt is not counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from velospec import Statistics
from velospec_cli.benchmark.methods import FAST, PLAIN, RIVALS, VELOSPEC, Run
from velospec_cli.benchmark.session import Entry

Row = dict[str, Any]


def make_row(entry: Entry) -> Row:
    """One prompt's figures, JSON-ready. Spreads are the least and the largest of the rounds."""
    drafted = entry.runs[VELOSPEC]
    total = _statistics(drafted)
    ratios = _ratios(drafted, entry.runs[PLAIN])
    row: Row = {
        "prompt": entry.prompt.name,
        "tokens": len(entry.reference),
        "speedup": round(median(ratios), 4),
        "speedup_spread": _spread(ratios),
        "tokens_per_step": round(total.tokens_per_step, 4),
        "steps": round(total.steps / len(drafted)),
        "drafted": round(total.drafted_tokens / len(drafted)),
        "accepted": round(total.accepted_tokens / len(drafted)),
        "identical": all(run.ids == entry.reference for run in drafted),
        "output_sha256": _digest(entry.reference),
        "methods": {name: _figures(entry, name) for name in entry.runs},
        "proposers": {
            name: {"batches": count.batches, "drafted": count.drafted, "accepted": count.accepted}
            for name, count in sorted(total.proposers.items())
        },
    }
    if FAST in entry.runs:
        row["fast_speedup"] = round(median(_ratios(entry.runs[FAST], entry.runs[PLAIN])), 4)
    return row


def summarize(entries: Sequence[Entry], rows: Sequence[Row]) -> dict[str, Any]:
    """What the rows come to. Means are over prompts, each counting alike. JSON-ready; needs a row."""
    total = _statistics([run for entry in entries for run in entry.runs[VELOSPEC]])
    speedups = [row["speedup"] for row in rows]
    names = [name for name in entries[0].runs if all(name in entry.runs for entry in entries)]
    rates = {name: mean(rate(entry, name) for entry in entries) for name in names}
    summary: dict[str, Any] = {
        "speedup_mean": round(mean(speedups), 4),
        "speedup_min": min(speedups),
        "speedup_max": max(speedups),
        "identical": f"{sum(row['identical'] for row in rows)}/{len(rows)}",
        **_against_rivals(entries, rates),
        "pass_reduction": round(1 - total.steps / total.new_tokens, 4),
        "tokens_per_step": round(total.tokens_per_step, 4),
        "acceptance_rate": round(total.acceptance_rate, 4),
        "tokens_per_second": {name: round(rate, 2) for name, rate in rates.items()},
        "first_token_seconds": _first_tokens(entries),
        "time": _account(total),
        "batches": _batches(total),
        "accepted_at": _shares(total.accepted_at, total.drafted_at),
        "proposers": {
            name: {"batches": count.batches, "drafted": count.drafted, "accepted": count.accepted}
            for name, count in sorted(total.proposers.items())
        },
    }
    fast = [row["fast_speedup"] for row in rows if "fast_speedup" in row]
    if fast:
        summary |= {"fast_speedup_mean": round(mean(fast), 4), "fast_speedup_min": min(fast)}
    return summary


def _against_rivals(entries: Sequence[Entry], rates: dict[str, float]) -> dict[str, Any]:
    """VeloSpec against the rival that is quickest in the mean, and against the quickest on each prompt."""
    rivals = [name for name in RIVALS if all(name in entry.runs for entry in entries)]
    if not rivals:
        return {"best_rival": None, "vs_best_rival": None, "vs_best_rival_each": None}
    best = max(rivals, key=lambda name: rates[name])
    alone = [rate(entry, VELOSPEC) / rate(entry, best) for entry in entries]
    each = [rate(entry, VELOSPEC) / max(rate(entry, name) for name in rivals) for entry in entries]
    return {
        "best_rival": best,
        "vs_best_rival": round(mean(alone), 4),
        "vs_best_rival_each": round(mean(each), 4),
    }


def _figures(entry: Entry, name: str) -> dict[str, Any]:
    rates = [run.tokens_per_second for run in entry.runs[name]]
    return {
        "tokens_per_second": round(median(rates), 2),
        "spread": _spread(rates),
        "rounds": len(rates),
        "first_token_seconds": round(entry.first_token[name], 4),
        "identical": all(run.ids == entry.reference for run in entry.runs[name]),
    }


def _account(total: Statistics) -> dict[str, float]:
    """Where the seconds of VeloSpec's steps went, and what the cost model expected of the batches."""
    return {
        "decode": round(total.decode_seconds, 4),
        "propose": round(total.propose_seconds, 4),
        "score": round(total.score_seconds, 4),
        "decide": round(total.decide_seconds, 4),
        "expected_score": round(total.expected_seconds, 4),
    }


def _batches(total: Statistics) -> dict[str, dict[str, float]]:
    """By rows: how many batches there were, and their mean seconds, measured and expected."""
    return {
        str(rows): {
            "count": count,
            "seconds": round(total.scored_seconds_at[rows] / count, 6),
            "expected": round(total.expected_seconds_at[rows] / count, 6),
        }
        for rows, count in enumerate(total.rows)
        if count
    }


def verified_acceptance(runs: Sequence[Run]) -> float:
    """Accepted share of the drafted tokens up to the first wrong one of each draft, 0 to 1.

    That is how the first VeloSpec counts; `Statistics.acceptance_rate` is of all drafted tokens.
    """
    verdicts = [step.verdict for run in runs for step in run.steps if step.verdict.draft.ids]
    accepted = sum(verdict.accepted for verdict in verdicts)
    wrong = sum(verdict.accepted < len(verdict.draft) for verdict in verdicts)
    return accepted / (accepted + wrong) if verdicts else 0.0


def _first_tokens(entries: Sequence[Entry]) -> dict[str, float]:
    names = entries[0].first_token
    return {name: round(median(entry.first_token[name] for entry in entries), 4) for name in names}


def _statistics(runs: Sequence[Run]) -> Statistics:
    return sum((run.statistics for run in runs if run.statistics), Statistics())


def _ratios(runs: Sequence[Run], plain: Sequence[Run]) -> list[float]:
    return [a.tokens_per_second / b.tokens_per_second for a, b in zip(runs, plain, strict=True)]


def rate(entry: Entry, name: str) -> float:
    """A method's tokens per second on a prompt: the median over the rounds."""
    return median(run.tokens_per_second for run in entry.runs[name])


def _spread(values: Sequence[float]) -> list[float]:
    return [round(min(values), 4), round(max(values), 4)]


def _shares(parts: Sequence[int], wholes: Sequence[int]) -> list[float]:
    return [round(part / whole, 4) for part, whole in zip(parts, wholes, strict=True) if whole]


def _digest(ids: Sequence[int]) -> str:
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()
