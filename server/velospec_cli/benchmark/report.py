"""What the terminal shows of a benchmark: the suites there are, the table of a run, and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from velospec_cli.benchmark.suites.registry import Suite

USAGE = """\
Run one:             velospec benchmark code
In under a minute:   velospec benchmark code --quick
Keep the figures:    velospec benchmark code --json code.json --trace code.csv
What the parts do:   velospec benchmark code --ablation"""


_SHORT = {
    "velospec-fast": "fast",
    "llama-cpp-python": "llama-cpp",
    "prompt-lookup-10": "look. 10",
    "prompt-lookup-2": "look. 2",
    "llama-cpp-grammar": "llama-cpp",
    "mask-argmax": "mask",
}
"""The other methods as the table names them; those that it leaves out have one of their own."""


def suites(all_suites: Iterable[Suite]) -> RenderableType:
    """The list that a bare `velospec benchmark` shows."""
    table = Table(box=None, pad_edge=False)
    table.add_column("suite", style="bold", no_wrap=True)
    table.add_column("what is decoded", overflow="fold")
    for name in ("prompts", "tokens", "minutes"):
        table.add_column(name, justify="right")
    for suite in all_suites:
        tokens = f"to {suite.tokens}" if suite.ends else str(suite.tokens)
        table.add_row(suite.name, suite.summary, str(suite.size), tokens, f"{suite.minutes}")
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
