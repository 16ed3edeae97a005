"""What each part of drafting brings: the recorded answers of a run, decoded again under other settings.

Nothing is decoded by the model. Each step's batch is charged with what the measured cost model expects of it,
and each proposer's drafts are what they would have been, so that the counts are exact and a setting takes
seconds. The engine's own time (drafting, choosing, comparing) is measured and told apart from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from velospec import Control, Drafting, Engine, Recording, Statistics
from velospec.core.request import Limits
from velospec.models.progress import Progress
from velospec_cli.benchmark.methods import VELOSPEC
from velospec_cli.benchmark.session import Entry
from velospec_cli.benchmark.suites.registry import read_texts

PROPOSERS = ("suffix", "resume", "corpus", "ngram", "motif", "syntax_fsm", "ast_shadow")
BY_GRAMMAR = ("forced", "grammar_state")
"""Those that have nothing to say where an answer has no grammar."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table."""

    name: str
    drafting: Drafting


def settings(*, grammars: bool = False) -> list[Setting]:
    """All that are compared: everything, each proposer alone, each left out, and the other ways to choose.

    `grammars`: the answers have some.
    """
    names = (*BY_GRAMMAR, *PROPOSERS) if grammars else PROPOSERS
    everything = frozenset(names)
    return [
        Setting("everything", Drafting(everything)),
        *(Setting(f"{name} alone", Drafting(frozenset({name}))) for name in names),
        *(Setting(f"without {name}", Drafting(everything - {name})) for name in names),
        Setting("selector without entropy gate", Drafting(everything, entropy_gate=False)),
        Setting("adaptive K", Drafting(everything, Control.ADAPTIVE_K)),
        Setting("K by density", Drafting(everything, Control.DENSITY)),
        Setting("K = 4", Drafting(everything, Control.FIXED, length=4)),
        Setting("K = 8", Drafting(everything, Control.FIXED, length=8)),
    ]


def ablate(engine: Engine, entries: Sequence[Entry], *, ends: bool, say: Progress) -> list[dict[str, Any]]:
    """The table's lines, JSON-ready, from the first round's runs of `entries`."""
    plain = [_replay(engine, entry, ends=ends, speculate=False) for entry in entries]
    lines = []
    every = settings(grammars=any(entry.prompt.grammar is not None for entry in entries))
    for number, setting in enumerate(every):
        say("Replaying under other settings", number, len(every))
        engine.use_drafting(setting.drafting)
        lines.append(_line(setting, plain, list(_replay_all(engine, entries, ends=ends))))
    engine.use_drafting(Drafting())
    return lines


def _replay_all(engine: Engine, entries: Sequence[Entry], *, ends: bool) -> Iterator[Statistics]:
    learned: tuple[object, ...] = ()
    for entry in entries:
        if entry.prompt.corpus != learned:
            engine.use_corpus(read_texts(entry.prompt.corpus))
            learned = entry.prompt.corpus
        yield _replay(engine, entry, ends=ends, speculate=True)


def _replay(engine: Engine, entry: Entry, *, ends: bool, speculate: bool) -> Statistics:
    run = entry.runs[VELOSPEC][0]
    margins = tuple(margin for step in run.steps for margin in step.verdict.margins)
    limits = Limits(max_tokens=len(run.ids), ignore_end=not ends)
    request = entry.prompt.request("benchmark", limits, speculate=speculate)
    return engine.replay(request, Recording(run.ids, margins[: len(run.ids)])).statistics


def _line(setting: Setting, plain: Sequence[Statistics], drafted: Sequence[Statistics]) -> dict[str, Any]:
    total = sum(drafted, Statistics())
    own = total.propose_seconds + total.decide_seconds
    by_model = [a.expected_seconds / b.expected_seconds for a, b in zip(plain, drafted, strict=True)]
    in_all = [
        a.expected_seconds / (b.expected_seconds + b.propose_seconds + b.decide_seconds)
        for a, b in zip(plain, drafted, strict=True)
    ]
    return {
        "setting": setting.name,
        "speedup_mean": round(mean(in_all), 4),
        "speedup_min": round(min(in_all), 4),
        "model_speedup_mean": round(mean(by_model), 4),
        "model_speedup_min": round(min(by_model), 4),
        "tokens_per_step": round(total.tokens_per_step, 4),
        "acceptance_rate": round(total.acceptance_rate, 4),
        "own_microseconds_per_step": round(1e6 * own / total.steps, 1),
    }
