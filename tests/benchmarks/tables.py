"""Write the tables of docs/benchmarks.md and of the README anew from the JSON files of `velospec benchmark`.

    velospec benchmark code --ablation --json tests/benchmarks/results/code.json   # and the other suites
    python -m tests.benchmarks.tables

A table stands between its markers, `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

STRUCTURED = ("tools", "schemas")
"""Suites of answers under a grammar, which have tables by the kind of answer besides."""

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
SUITES = ("code", "humaneval", "editing", "completion", *STRUCTURED)
LONG = 50  # rows of a suite that get no line each

Document = dict[str, Any]

PUBLISHED = {
    "prime-check": ("Prime checker", 3.15),
    "fibonacci": ("Fibonacci", 1.53),
    "search-tree": ("BST implementation", 1.28),
    "insert-at-front": ("Insertion at beginning", 1.45),
    "max-heap": ("Max heap", 1.26),
}
"""The five prompts that structspec's README names, with its speed-ups, by our name for the same subject."""

FIRST_VELOSPEC = {
    "pure-enum": ("80%", "80%", 2.73),
    "nested-enum": ("100%", "100%", 1.64),
    "enum-short-text": ("85%", "92%", 1.62),
    "mixed": ("95%", "95%", 1.15),
    "long-free-text": ("79%", "80%", 1.14),
    "short-free-text": ("92%", "85%", 0.96),
}
"""The README of shilonggrad-design/spec-decoding: acceptance of C3 and C4, and C4's throughput over C3's."""


def load() -> dict[str, Document]:
    """The results there are, by suite."""
    files = {suite: RESULTS / f"{suite}.json" for suite in SUITES}
    return {suite: json.loads(file.read_text("utf-8")) for suite, file in files.items() if file.exists()}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def overview(documents: dict[str, Document]) -> str:
    """One line for each suite."""
    rows = []
    for suite, document in documents.items():
        summary = document["summary"]
        rows.append(
            [
                f"`{suite}`",
                *(times(summary[f"speedup_{key}"]) for key in ("mean", "min", "max")),
                summary["identical"],
                f"{times(summary['vs_best_rival'])} of {summary['best_rival']}",
                f"{summary['tokens_per_step']:.2f}",
                f"{summary['pass_reduction']:.0%}",
                f"{summary['acceptance_rate']:.0%}",
                f"{summary['prompts']} x {summary['tokens']}, {summary['rounds']}",
            ]
        )
    names = ("suite", "mean", "worst", "best", "identical", "against the best rival", "tokens a pass")
    return table([*names, "fewer passes", "accepted", "prompts x tokens, rounds"], rows)


def measured(documents: dict[str, Document]) -> str:
    """The overview in short, for the README."""
    rows = []
    for suite, document in documents.items():
        summary = document["summary"]
        ratios = [times(summary[f"speedup_{key}"]) for key in ("mean", "min", "max")]
        rows.append([f"`{suite}`", *ratios, summary["identical"], times(summary["vs_best_rival"])])
    head = ("suite", "mean", "worst", "best", "identical to no drafts", "against the best rival")
    return table(head, rows)


def conditions(documents: dict[str, Document]) -> str:
    """What each run holds for."""
    lines = []
    for suite, document in documents.items():
        machine, versions = document["machine"], document["versions"]
        costs = ", ".join(f"{rows}: {cost:.2f}" for rows, cost in machine["batch_cost"].items())
        warnings = " ".join(machine["warnings"]) or "The machine did nothing else."
        model = document["model"]["name"]
        lines.append(
            f"- `{suite}`: {machine['processor']}, {machine['threads']} threads, {model}, "
            f"VeloSpec {versions['velospec']}, llama-cpp-python {versions['llama-cpp-python']}; "
            f"T(k)/T(1) by rows {costs}. {warnings}"
        )
    return "\n".join(lines)


def prompts(document: Document) -> str:
    """One line for each prompt, or what the prompts spread over where there are many."""
    rows = document["rows"]
    if len(rows) > LONG:
        shares = quantiles((row["speedup"] for row in rows), n=20, method="inclusive")
        names = ("worst", "5 %", "25 %", "median", "75 %", "95 %", "best")
        speedups = [row["speedup"] for row in rows]
        places = (min(speedups), shares[0], shares[4], shares[9], shares[14], shares[18], max(speedups))
        return table(names, [[times(value) for value in places]])
    methods = list(rows[0]["methods"])
    lines = [
        [
            row["prompt"],
            times(row["speedup"]),
            " to ".join(times(value) for value in row["speedup_spread"]),
            f"{row['tokens_per_step']:.2f}",
            *(f"{row['methods'][name]['tokens_per_second']:.1f}" for name in methods),
        ]
        for row in rows
    ]
    return table(["prompt", "speed-up", "of the rounds", "tokens a pass", *methods], lines)


def ablation(document: Document) -> str:
    """What each part brings, as replayed."""
    lines = [
        [
            line["setting"],
            times(line["speedup_mean"]),
            times(line["speedup_min"]),
            times(line["model_speedup_mean"]),
            f"{line['tokens_per_step']:.2f}",
            f"{line['acceptance_rate']:.0%}",
            f"{line['own_microseconds_per_step']:.0f}",
        ]
        for line in document["summary"].get("ablation", [])
    ]
    head = ("drafting", "mean", "worst", "mean, model alone", "tokens a pass", "accepted", "own µs a step")
    return table(head, lines)


def structspec(documents: dict[str, Document]) -> str:
    """The five prompts that both have a figure of."""
    ours = {row["prompt"]: row for row in documents["code"]["rows"]} if "code" in documents else {}
    return table(
        ("structspec's prompt", "structspec", "VeloSpec, ours on the same subject"),
        [
            [theirs, times(value), times(ours[name]["speedup"]) if name in ours else "not in this run"]
            for name, (theirs, value) in PUBLISHED.items()
        ],
    )


def structured(document: Document) -> str:
    """What a suite of structured answers comes to, by the kind of answer: speed and acceptance."""
    names = ("velospec", "C1", "C2", "C3", "C4")
    rows = []
    for kind, figures in document["summary"]["kinds"].items():
        methods = figures["methods"]
        rows.append(
            [
                kind,
                f"{figures['tokens']:.0f}",
                *(times(methods[name]["speedup"]) for name in names),
                *(share(methods[name].get("verified_acceptance_rate")) for name in names),
                f"{methods['velospec']['tokens_per_step']:.2f}",
            ]
        )
    heads = ("auto", *names[1:])
    accepted = (f"{name} accepted" for name in heads)
    return table(("kind", "tokens", *heads, *accepted, "auto, tokens a pass"), rows)


def grammars(documents: dict[str, Document]) -> str:
    """What the grammar costs and forces, whether answers are valid, and how far the rivals are behind."""
    rows = []
    for suite in STRUCTURED:
        if suite not in documents:
            continue
        summary = documents[suite]["summary"]
        ahead = summary["ahead_of"]
        rows.append(
            [
                f"`{suite}`",
                summary["valid"],
                str(summary["cut"]),
                f"{summary['forced_share']:.0%}",
                f"{summary['grammar_microseconds_per_step']:.0f} µs, {summary['grammar_share_of_pass']:.1%}",
                *(
                    f"{times(ahead[name]['tokens_per_second'])}, {times(ahead[name]['answer_seconds'])}"
                    for name in ("llama-cpp-grammar", "mask-argmax")
                ),
            ]
        )
    behind = ("against llama-cpp-grammar", "against mask-argmax")
    return table(("suite", "valid", "cut short", "forced", "grammar, a pass", *behind), rows)


def first_velospec(document: Document) -> str:
    """The six types of schema beside the published figures."""
    kinds = document["summary"]["kinds"]
    rows = []
    for kind, (c3, c4, ratio) in FIRST_VELOSPEC.items():
        methods = kinds[kind]["methods"]
        rows.append(
            [
                kind,
                c3,
                c4,
                times(ratio),
                *(share(methods[name].get("verified_acceptance_rate")) for name in ("C3", "C4", "velospec")),
                times(methods["C4"]["speedup"] / methods["C3"]["speedup"]),
                times(methods["velospec"]["speedup"] / methods["C3"]["speedup"]),
                times(methods["velospec"]["speedup"]),
            ]
        )
    theirs = ("C3 accepted", "C4 accepted", "C4 / C3")
    ours = ("ours: C3 accepted", "C4 accepted", "auto accepted", "C4 / C3", "auto / C3", "auto / no drafts")
    return table(("type", *theirs, *ours), rows)


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def write(page: str, name: str, text: str) -> str:
    """`page` with `text` between the markers of `name`. Raises ValueError where there are none."""
    marked = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"the page has no markers for {name}")
    return marked.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def pages() -> dict[Path, str]:
    """The two pages with all tables there are results for."""
    documents = load()
    page = PAGE.read_text("utf-8")
    whole: tuple[tuple[str, Callable[[dict[str, Document]], str]], ...] = (
        ("overview", overview),
        ("conditions", conditions),
        ("structspec", structspec),
    )
    for name, make in whole:
        page = write(page, name, make(documents))
    for suite, document in documents.items():
        page = write(page, suite, prompts(document))
        if "ablation" in document["summary"]:
            page = write(page, f"ablation-{suite}", ablation(document))
        if suite in STRUCTURED:
            page = write(page, f"{suite}-kinds", structured(document))
            page = write(page, "grammars", grammars(documents))
        if suite == "schemas":
            page = write(page, "first-velospec", first_velospec(document))
    return {PAGE: page, README: write(README.read_text("utf-8"), "measured", measured(documents))}


def main() -> int:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
