"""What suites of structured answers have besides: chat prompts, C1 to C4, and rivals that know grammars.

`plain` is masked decoding here: one row in each pass, the grammar's mask on its logits, no drafts. C1 to C4
are the configurations of the first VeloSpec; each has an engine of its own, so that what one of them learns
is not the others'. C1, which leaves the grammar out, shares that of C3. Figures are by kind of answer too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from velospec import ChatFormat, Engine, InstalledModel, Statistics
from velospec.configurations import drafting_of
from velospec.core.messages import Message
from velospec_cli.benchmark.answers import grammar_of, violations_of
from velospec_cli.benchmark.grammar_methods import grammar_rivals
from velospec_cli.benchmark.methods import GRAMMAR, MASK, PLAIN, VELOSPEC, Method, Run, VeloSpecMethod
from velospec_cli.benchmark.opening import Opener
from velospec_cli.benchmark.results import Row, rate, verified_acceptance
from velospec_cli.benchmark.session import Entry
from velospec_cli.benchmark.suites.prompt import Prompt, Structure

FREE = "C1"
CONFIGURATIONS = ("C1", "C2", "C3", "C4")

_WIDTH = 5  # ids of a draft of C1 to C3, the first VeloSpec's default
_CONTEXT = 256  # at which the grammar's time is set against a pass of one row
_SHOWN = 3  # violations of an answer that are told
_WARM = Structure(
    "warm-up",
    (("user", "Write the days of a week as JSON."),),
    '{"type": "object", "properties": {"days": {"type": "array", "items": {"type": "string"}}}}',
)


def rendered(prompts: Iterable[Prompt], model: InstalledModel) -> list[Prompt]:
    """The prompts as `model` reads them, with the grammars of their answers. Raises ChatError."""
    form = ChatFormat.for_file(model.path)
    return [_render(prompt, form) for prompt in prompts]


def warm_prompt(model: InstalledModel) -> Prompt:
    """What all methods decode a little of before anything counts."""
    return rendered([Prompt(_WARM.kind, "", structure=_WARM)], model)[0]


def others(opener: Opener, engine: Engine) -> list[Method]:
    """The configurations and the rivals; what they hold is closed with the opener's stack."""
    mode = opener.options.mode
    engines = {name: opener.engine(mode, drafting_of(name, _WIDTH)) for name in CONFIGURATIONS[1:]}
    engines[FREE] = engines["C3"]
    methods: list[Method] = [
        VeloSpecMethod(name, engines[name], speculate=True, ends=True, free=name == FREE)
        for name in CONFIGURATIONS
    ]
    theirs, loaded = grammar_rivals(engine, context=opener.context)
    opener.stack.callback(loaded.close)
    return [*methods, *theirs]


def add_figures(
    engine: Engine, entries: Sequence[Entry], rows: Sequence[Row], summary: dict[str, Any]
) -> None:
    """Add to each row and to the summary what is asked of structured answers alone. JSON-ready."""
    for entry, row in zip(entries, rows, strict=True):
        _extend(entry, row, engine)
    runs = [run for entry in entries for run in entry.runs[VELOSPEC]]
    total = _sum(runs)
    profile = engine.profile
    summary |= {
        "valid": f"{sum(row['valid'] for row in rows)}/{len(rows)}",
        "cut": sum(row["cut"] for row in rows),
        "forced_share": _share(total.forced_tokens, total.new_tokens),
        "grammar_microseconds_per_step": round(1e6 * total.grammar_seconds / total.steps, 1),
        "grammar_share_of_pass": None
        if profile is None
        else round(total.grammar_seconds / total.steps / profile.cost.seconds(1, _CONTEXT), 4),
        "ahead_of": {name: _ahead(entries, name) for name in (GRAMMAR, MASK) if name in entries[0].runs},
        "kinds": {
            kind: _kind([entry for entry in entries if _kind_of(entry) == kind])
            for kind in dict.fromkeys(map(_kind_of, entries))
        },
    }


def _render(prompt: Prompt, form: ChatFormat) -> Prompt:
    structure = prompt.structure
    if structure is None:
        raise TypeError(f"{prompt.name} asks for no structured answer")
    structure = replace(structure, style=form.tools.style)
    messages = [Message(role, content) for role, content in structure.messages]
    before = form.render(messages, structure.tools)
    return Prompt(prompt.name, before, structure=structure, grammar=grammar_of(structure))


def _extend(entry: Entry, row: Row, engine: Engine) -> None:
    structure = entry.prompt.structure
    assert structure is not None  # noqa: S101 - such are the prompts of these suites
    for name, runs in entry.runs.items():
        row["methods"][name] |= _method(runs, structure, engine)
    if structure.tools and GRAMMAR in entry.runs:
        del row["methods"][GRAMMAR]["valid"]  # its white space is not that of the model's style of calls
    mine = row["methods"][VELOSPEC]
    total = _sum(entry.runs[VELOSPEC])
    row |= {
        "kind": structure.kind,
        "valid": mine["valid"],
        "cut": mine["cut"],
        "violations": _violations(entry.runs[VELOSPEC][0], structure, engine)[:_SHOWN],
        "forced_share": _share(total.forced_tokens, total.new_tokens),
        "grammar_seconds": round(total.grammar_seconds / len(entry.runs[VELOSPEC]), 6),
    }


def _method(runs: Sequence[Run], structure: Structure, engine: Engine) -> dict[str, Any]:
    """One method's answer, which is the same in each round, and what its drafts came to."""
    first, total = runs[0], _sum(runs)
    valid = not _violations(first, structure, engine)
    figures: dict[str, Any] = {
        "tokens": len(first.ids),
        "answer_seconds": round(_answer_seconds(runs), 4),
        "valid": valid,
        "cut": first.cut and not valid,
    }
    if total.drafted_tokens:
        figures |= {
            "tokens_per_step": round(total.tokens_per_step, 4),
            "acceptance_rate": round(total.acceptance_rate, 4),
            "verified_acceptance_rate": round(verified_acceptance(runs), 4),
            "density": round(mean(step.density for run in runs for step in run.steps), 4),
        }
    return figures


def _kind(entries: Sequence[Entry]) -> dict[str, Any]:
    """One kind's figures by method: means over its prompts, and of all drafts the shares accepted."""
    names = [name for name in entries[0].runs if all(name in entry.runs for entry in entries)]
    return {
        "prompts": len(entries),
        "tokens": round(mean(len(entry.reference) for entry in entries), 1),
        "methods": {name: _kind_method(entries, name) for name in names},
    }


def _kind_method(entries: Sequence[Entry], name: str) -> dict[str, Any]:
    runs = [run for entry in entries for run in entry.runs[name]]
    total = _sum(runs)
    figures = {
        "tokens_per_second": round(mean(rate(entry, name) for entry in entries), 2),
        "speedup": round(mean(rate(entry, name) / rate(entry, PLAIN) for entry in entries), 4),
    }
    if total.drafted_tokens:
        figures |= {
            "tokens_per_step": round(total.tokens_per_step, 4),
            "acceptance_rate": round(total.acceptance_rate, 4),
            "verified_acceptance_rate": round(verified_acceptance(runs), 4),
        }
    return figures


def _ahead(entries: Sequence[Entry], rival: str) -> dict[str, float]:
    """By how much VeloSpec is ahead of `rival`: in tokens per second, and in the time that an answer takes.

    The two differ where a rival's grammar leaves other whitespace, and so other tokens.
    """
    return {
        "tokens_per_second": round(mean(rate(each, VELOSPEC) / rate(each, rival) for each in entries), 4),
        "answer_seconds": round(
            mean(
                _answer_seconds(each.runs[rival]) / _answer_seconds(each.runs[VELOSPEC]) for each in entries
            ),
            4,
        ),
    }


def _answer_seconds(runs: Sequence[Run]) -> float:
    return mean(len(run.ids) / run.tokens_per_second for run in runs)


def _violations(run: Run, structure: Structure, engine: Engine) -> list[str]:
    text = run.text or b"".join(map(engine.piece, run.ids)).decode("utf-8", "replace")
    return violations_of(text, structure)


def _kind_of(entry: Entry) -> str:
    return entry.prompt.structure.kind if entry.prompt.structure is not None else ""


def _sum(runs: Sequence[Run]) -> Statistics:
    return sum((run.statistics for run in runs if run.statistics), Statistics())


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
