"""What the terminal shows of a benchmark: the suites there are, the table of a run, and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from velospec_cli.benchmark.suites.registry import ServerSuite, Suite

USAGE = """\
Run one:             velospec benchmark code
In under a minute:   velospec benchmark code --quick
Keep the figures:    velospec benchmark code --json code.json --trace code.csv
What the parts do:   velospec benchmark code --ablation
Kernels, on a GPU:   velospec benchmark kernels"""


_SHORT = {
    "velospec-fast": "fast",
    "llama-cpp-python": "llama-cpp",
    "prompt-lookup-10": "look. 10",
    "prompt-lookup-2": "look. 2",
    "llama-cpp-grammar": "llama-cpp",
    "mask-argmax": "mask",
}
"""The other methods as the table names them; those that it leaves out have one of their own."""

_LATENCIES = {
    "cold": "cold: a document just opened",
    "warm": "warm: one more character",
    "rival": "  llama.vim's way, the same",
    "rival_first_line": "  to the end of its first line",
    "typed": "typed through",
    "superseded": "superseded, from the newer request",
}
"""What the requests of the suite `latency` were for."""


def suites(all_suites: Iterable[Suite], of_server: Iterable[ServerSuite]) -> RenderableType:
    """The list that a bare `velospec benchmark` shows."""
    table = Table(box=None, pad_edge=False)
    table.add_column("suite", style="bold", no_wrap=True)
    table.add_column("what is decoded", overflow="fold")
    for name in ("prompts", "tokens", "minutes"):
        table.add_column(name, justify="right")
    for suite in all_suites:
        tokens = f"to {suite.tokens}" if suite.ends else str(suite.tokens)
        table.add_row(suite.name, suite.summary, str(suite.size), tokens, f"{suite.minutes}")
    for driven in of_server:
        table.add_row(driven.name, driven.summary, str(driven.size), "", f"{driven.minutes}")
    return table


def results(document: dict[str, Any]) -> RenderableType:
    """One line for each prompt. Ratios are to decoding without drafts in the same round."""
    rivals = [name for name in _SHORT if name in document["rows"][0]["methods"]]
    table = Table(box=None, pad_edge=False, title="Tokens per second", title_justify="left")
    table.add_column("prompt", overflow="ellipsis", no_wrap=True)
    for name in ("plain", "velospec", "ratio", "/step", *(_SHORT[name] for name in rivals)):
        table.add_column(name, justify="right", no_wrap=True)
    for row in document["rows"]:
        methods = row["methods"]
        table.add_row(
            _end(row["prompt"]),
            f"{methods['plain']['tokens_per_second']:.1f}",
            f"{methods['velospec']['tokens_per_second']:.1f}",
            _ratio(row["speedup"]),
            f"{row['tokens_per_step']:.2f}",
            *(f"{methods[name]['tokens_per_second']:.1f}" if name in methods else "" for name in rivals),
        )
    return table


def kinds(document: dict[str, Any]) -> RenderableType:
    """One line for each kind of answer and way to draft it: speed over masked decoding, and acceptance."""
    title = "By the kind of answer: times masked decoding without drafts, share of drafts accepted"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("kind", no_wrap=True)
    names = ("velospec", "C1", "C2", "C3", "C4")
    for name in names:
        table.add_column("auto" if name == "velospec" else name, justify="right", no_wrap=True)
    for kind, figures in document["summary"]["kinds"].items():
        methods = figures["methods"]
        table.add_row(kind, *(_drafted(methods[name]) for name in names))
    return table


def verdict(document: dict[str, Any]) -> Text:
    """The summary in words, and what disturbs it."""
    summary, machine = document["summary"], document["machine"]
    text = Text()
    text.append(f"{summary['speedup_mean']:.2f}x", style="bold")
    text.append(
        f" in the mean, {summary['speedup_min']:.2f}x at worst, {summary['speedup_max']:.2f}x at best; "
    )
    text.append(f"{summary['identical']} outputs identical to decoding without drafts.\n")
    if summary["vs_best_rival"] is not None:
        text.append(f"{summary['vs_best_rival']:.2f}x", style="bold")
        text.append(f" of {summary['best_rival']}, the quickest rival. ")
    if "valid" in summary:
        text.append(
            f"{summary['valid']} answers valid, {summary['cut']} cut short, {summary['forced_share']:.0%} of "
            f"their tokens forced; {summary['grammar_microseconds_per_step']:.0f} µs a pass in the grammar.\n"
        )
    text.append(
        f"{summary['tokens_per_step']:.2f} tokens a pass of the model, "
        f"{summary['acceptance_rate']:.0%} of the drafted tokens accepted.\n"
    )
    costs = ", ".join(f"{rows}: {cost:.2f}" for rows, cost in machine.get("batch_cost", {}).items())
    text.append(f"{machine['threads']} threads, {machine['processor']}; cost of a batch by rows: {costs}\n")
    for warning in machine["warnings"]:
        text.append(warning + "\n", style="yellow")
    return text


def latency(summary: dict[str, Any]) -> RenderableType:
    """Milliseconds from request to item, and what they come to against the rival."""
    table = Table(box=None, pad_edge=False, title="Milliseconds from request to item", title_justify="left")
    table.add_column("request", no_wrap=True)
    for name in ("requests", "p50", "p90", "p99"):
        table.add_column(name, justify="right")
    for kind, label in _LATENCIES.items():
        if kind in summary:
            told = (f"{summary[kind][f'{name}_ms']:.1f}" for name in ("p50", "p90", "p99"))
            table.add_row(label, str(summary[kind].get("requests", "")), *told)
    text = Text()
    if "vs_rival_p50" in summary:
        text.append(f"{summary['vs_rival_p50']:.2f}x", style="bold")
        text.append(f" of the rival at the median, {summary['vs_rival_p90']:.2f}x at the 90th percentile; ")
        text.append(f"to its first line {summary['vs_rival_first_line_p50']:.2f}x, ")
        text.append(f"{summary['vs_rival_first_line_p90']:.2f}x.\n")
    if summary["prefix_reused"] is not None:
        text.append(f"{summary['prefix_reused']:.1%} of the prompts' tokens were in the KV cache. ")
    text.append(f"The model was asked {summary['typed_through_model_calls']} times while typing through.")
    return Group(table, text)


def quality(document: dict[str, Any]) -> RenderableType:
    """How right and how quiet: lines of Python that were begun, by source, then other places by kind."""
    table = Table(box=None, pad_edge=False)
    table.add_column("places", no_wrap=True)
    for name in ("", "shown", "exact line", "first word", "survives", "quiet if wrong", "shown if right"):
        table.add_column(name, justify="right")
    summary = document["summary"]
    groups = {"lines of Python": summary, **summary["sources"], **summary["kinds"]}
    for label, figures in groups.items():
        told = (figures[name] for name in _RATES)
        table.add_row(
            label, str(figures["places"]), *("" if rate is None else f"{rate:.1%}" for rate in told)
        )
    text = Text(f"{summary['duplicates']} of {summary['positions']} places show what stands beside them; ")
    text.append(f"{summary['unbalanced'] or 0:.1%} of the single lines shown are unbalanced.\n")
    for warning in document["machine"]["warnings"]:
        text.append(warning + "\n", style="yellow")
    return Group(table, text)


_RATES = ("show_rate", "exact_line", "first_token", "survival", "quiet_rate", "right_shown")
"""The columns of the suite `quality`."""


def ablation(lines: Sequence[dict[str, Any]]) -> RenderableType:
    """The table of replays: speed-ups by the measured cost of batches and the engine's own time."""
    title = "Replayed under other settings: by the measured cost of batches"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    table.add_column("drafting", no_wrap=True)
    for name in ("mean", "worst", "per step", "accepted", "own µs a step"):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            line["setting"],
            _ratio(line["speedup_mean"]),
            _ratio(line["speedup_min"]),
            f"{line['tokens_per_step']:.2f}",
            f"{line['acceptance_rate']:.0%}",
            f"{line['own_microseconds_per_step']:.0f}",
        )
    return table


def _drafted(figures: dict[str, Any]) -> str:
    accepted = f"{figures['acceptance_rate']:.0%}" if "acceptance_rate" in figures else "-"
    return f"{figures['speedup']:.2f}x {accepted:>4}"


def _end(name: str, most: int = 20) -> str:
    """A long name's end, which tells more than its beginning: it has the file and the line."""
    return name if len(name) <= most else "…" + name[1 - most :]


def _ratio(value: float) -> Text:
    return Text(f"{value:.2f}x", style="green" if value >= 1 else "yellow")
