"""The order of a benchmark's runs and the figures made of them, by methods with written outputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from velospec import Drafting, ProposerCount, Statistics
from velospec_cli.benchmark.methods import LLAMA, LOOKUP_2, LOOKUP_10, PLAIN, REFERENCE, VELOSPEC, Run
from velospec_cli.benchmark.results import make_row, summarize
from velospec_cli.benchmark.session import Entry, Plan, Session
from velospec_cli.benchmark.suites.prompt import Prompt
from velospec_cli.benchmark.trace import escape

ALL = (PLAIN, VELOSPEC, LLAMA)


@dataclass
class Written:
    """A method whose outputs are as long as their prompts, and that writes down what is asked of it."""

    name: str
    log: list[tuple[str, str, str]]
    seconds: float = 0.0
    reader: str = "one"

    def read(self, prompt: Prompt) -> float:
        self.log.append(("read", self.name, prompt.name))
        return 0.25

    def run(self, prompt: Prompt, tokens: int) -> Run:
        self.log.append(("run", self.name, prompt.name))
        time.sleep(self.seconds)
        ids = tuple(range(min(len(prompt.before), tokens)))
        return Run(ids, len(ids), 1.0, Statistics(new_tokens=len(ids), steps=len(ids)))


@dataclass
class Learner:
    """What a session does to an engine."""

    done: list[str] = field(default_factory=list)

    def use_drafting(self, drafting: Drafting) -> None:
        assert drafting == Drafting()
        self.done.append("afresh")

    def use_corpus(self, texts: Sequence[str]) -> None:
        self.done.append(f"learned {len(texts)}")


def run(
    prompts: Sequence[Prompt], plan: Plan, names: Sequence[str] = ALL, seconds: float = 0.0
) -> tuple[list[Entry], list[tuple[str, str, str]], list[str]]:
    log: list[tuple[str, str, str]] = []
    learner: Any = Learner()
    methods = [Written(name, log, seconds) for name in names]
    session = Session([(learner, Drafting())], methods, lambda _label, _done, _total: None)
    return session.run(prompts, plan), log, learner.done


def prompts(*names: str) -> list[Prompt]:
    return [Prompt(name, name) for name in names]


def order(log: Sequence[tuple[str, str, str]], prompt: str) -> list[str]:
    return [method for kind, method, name in log if kind == "run" and name == prompt]


def test_another_method_is_first_each_time() -> None:
    _, log, learned = run(prompts("a", "b"), Plan(8, rounds=2, rival_rounds=2, prompts=2))
    assert order(log, "a") == [PLAIN, VELOSPEC, LLAMA, VELOSPEC, LLAMA, PLAIN]
    assert order(log, "b") == [VELOSPEC, LLAMA, PLAIN, LLAMA, PLAIN, VELOSPEC]
    assert learned == ["afresh", "afresh"]


def test_methods_that_share_a_cache_read_a_prompt_once_a_round() -> None:
    _, log, _ = run(prompts("a"), Plan(8, rounds=2, rival_rounds=1, prompts=1))
    assert [entry for entry in log if entry[0] == "read"] == [("read", PLAIN, "a")] * 2
    assert order(log, "a") == [PLAIN, VELOSPEC, LLAMA, VELOSPEC, PLAIN]


def test_outputs_that_are_too_short_do_not_count_and_are_not_asked_again() -> None:
    plan = Plan(8, rounds=2, rival_rounds=2, prompts=2, least=3)
    entries, log, _ = run(prompts("a", "long", "b", "longer", "longest"), plan)
    assert [entry.prompt.name for entry in entries] == ["long", "longer"]
    assert order(log, "a") == [PLAIN]
    assert order(log, "longest") == []
    assert [len(run.ids) for run in entries[1].runs[LLAMA]] == [6, 6]


def test_nothing_begins_that_would_pass_the_deadline() -> None:
    plan = Plan(8, rounds=3, rival_rounds=3, prompts=9, deadline=time.monotonic() + 0.35)
    entries, log, _ = run(prompts(*"abcdefghi"), plan, seconds=0.04)
    assert 1 <= len(entries) <= 2
    assert all({PLAIN, VELOSPEC} <= set(entry.runs) for entry in entries)
    assert {name for _, _, name in log} == {entry.prompt.name for entry in entries}


def test_past_the_deadline_the_first_prompt_is_still_decoded_with_and_without_drafts() -> None:
    plan = Plan(8, rounds=3, rival_rounds=3, prompts=9, deadline=time.monotonic() - 1)
    entries, _, _ = run(prompts(*"abc"), plan)
    assert [set(entry.runs) for entry in entries] == [{PLAIN, VELOSPEC}]
    rows = [make_row(entry) for entry in entries]
    assert summarize(entries, rows)["vs_best_rival"] is None


def test_the_reference_runs_once() -> None:
    names = (PLAIN, VELOSPEC, REFERENCE)
    entries, log, _ = run(prompts("a"), Plan(8, rounds=3, rival_rounds=3, prompts=1), names)
    assert order(log, "a").count(REFERENCE) == 1
    assert entries[0].reference == entries[0].runs[REFERENCE][0].ids


def test_a_corpus_is_learned_when_it_changes(tmp_path: Any) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a")
    two.write_text("b")
    cursors = [
        Prompt(name, name, corpus=corpus)
        for name, corpus in (("a", (one,)), ("b", (one,)), ("c", (one, two)))
    ]
    _, _, done = run(cursors, Plan(8, rounds=2, rival_rounds=1, prompts=3))
    assert done == ["afresh", "learned 1", "learned 2"] * 2


def decoded(ids: Sequence[int], seconds: float, **counts: Any) -> Run:
    return Run(tuple(ids), len(ids), seconds, Statistics(new_tokens=len(ids), **counts))


def entry(name: str, plain: Sequence[float], drafted: Sequence[float], rivals: Sequence[float]) -> Entry:
    """One prompt of 8 tokens, with the seconds of each run; drafts take half the steps."""
    count = {"suffix": ProposerCount(2, 6, 3)}
    made = Entry(Prompt(name, name))
    ids = range(8)
    made.runs = {
        PLAIN: [decoded(ids, seconds, steps=8) for seconds in plain],
        VELOSPEC: [
            decoded(ids, seconds, steps=4, drafted_tokens=6, accepted_tokens=3, proposers=count)
            for seconds in drafted
        ],
        LLAMA: [decoded(ids, rivals[0])],
        LOOKUP_10: [decoded(ids, rivals[1])],
        LOOKUP_2: [decoded(range(7), rivals[2])],
    }
    made.first_token = dict.fromkeys(made.runs, 0.5)
    return made


def test_a_row_has_medians_over_rounds() -> None:
    row = make_row(entry("a", [2, 4, 2], [1, 1, 2], [1, 2, 7]))
    assert (row["speedup"], row["speedup_spread"]) == (2.0, [1.0, 4.0])
    assert row["methods"][PLAIN] == {
        "tokens_per_second": 4.0,
        "spread": [2.0, 4.0],
        "rounds": 3,
        "first_token_seconds": 0.5,
        "identical": True,
    }
    assert (row["tokens"], row["steps"], row["tokens_per_step"]) == (8, 4, 2.0)
    assert (row["drafted"], row["accepted"], row["identical"]) == (6, 3, True)
    assert row["methods"][LOOKUP_2]["tokens_per_second"] == 1.0
    assert not row["methods"][LOOKUP_2]["identical"]


def test_one_output_that_differs_in_one_round_is_not_identical() -> None:
    made = entry("a", [2, 2], [1, 1], [1, 1, 1])
    made.runs[VELOSPEC][1] = decoded([*range(7), 9], 1, steps=4)
    assert make_row(made)["identical"] is False


def test_a_summary_is_over_prompts() -> None:
    entries = [entry("a", [2], [1], [1.6, 4, 8]), entry("b", [4], [4], [3.2, 2, 8])]
    rows = [make_row(each) for each in entries]
    summary = summarize(entries, rows)
    assert (summary["speedup_mean"], summary["speedup_min"], summary["speedup_max"]) == (1.5, 1.0, 2.0)
    assert summary["identical"] == "2/2"
    assert (summary["pass_reduction"], summary["acceptance_rate"]) == (0.5, 0.5)
    # 5 and 2.5 tokens per second in the mean 3.75; prompt lookup of 10 has 2 and 4, the mean 3.
    assert (summary["best_rival"], summary["vs_best_rival"]) == (LLAMA, pytest.approx((8 / 5 + 2 / 2.5) / 2))
    assert summary["vs_best_rival_each"] == pytest.approx((8 / 5 + 2 / 4) / 2)
    assert summary["proposers"] == {"suffix": {"batches": 4, "drafted": 12, "accepted": 6}}


def test_a_token_is_told_on_one_line_of_a_trace() -> None:
    assert escape(b"\n    x\t") == "\\n    x\\t"
    assert escape(b"a\\b") == "a\\\\b"
    assert escape(b"\xf0\x9f") == "\\xf0\\x9f"
    assert escape("é".encode()) == "é"
