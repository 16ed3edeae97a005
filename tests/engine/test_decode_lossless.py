"""Drafts change the speed, never the outcome: ids, text, finish and KV cache equal those without drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.proposers import AlwaysWrong, Oracle, RandomIds, eager_selector
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.core.cancellation import CancelToken
from velospec.core.request import Completion, FinishReason, Limits, Sampling
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.ast_shadow import AstShadow
from velospec.proposers.base import Proposer
from velospec.proposers.motif import MotifProposer
from velospec.proposers.resume import ResumeProposer
from velospec.proposers.suffix import SuffixProposer

WORDS = (
    b"ab",
    b"abc",
    b"\n    ",
    b"\n\n",
    b"\n",
    b"    ",
    b"if x:",
    b"}\n",
    b"\xf0\x9f",
    b"\x98\x80",
    b"end",
)
VOCABULARY = ScriptedVocabulary(WORDS)
# What comes up often enough for the rules to matter: the words, the end token, the control token.
LIKELY = tuple(range(256, VOCABULARY.size))


@dataclass(frozen=True)
class Case:
    seed: int
    order: int
    prompt: tuple[int, ...]
    heal: bytes
    cursor_line: str
    limits: Limits
    min_rows: int
    context: int
    chunk: int
    language: str = "python"
    sampling: Sampling = field(default_factory=Sampling)
    snapshots: int | None = None  # of the running state of a hybrid model

    def backend(self) -> ScriptedBackend:
        rule = hash_rule(VOCABULARY, seed=self.seed, order=self.order, likely=LIKELY)
        return ScriptedBackend(
            rule, VOCABULARY, context=self.context, min_rows=self.min_rows, snapshots=self.snapshots
        )

    def run(self, backend: ScriptedBackend, *proposers: Proposer) -> Completion:
        selector = eager_selector(self.min_rows)
        decoder = Decoder(backend, proposers, selector, prefill_chunk=self.chunk)
        task = Task("doc", self.prompt, self.limits, self.heal, self.cursor_line)
        task = replace(task, speculate=bool(proposers), language=self.language, sampling=self.sampling)
        return decoder.complete(task, CancelToken())


limits = st.builds(
    Limits,
    max_tokens=st.integers(1, 60),
    stop=st.lists(st.sampled_from(["aba", "\n\n", "end", "x:}", "😀", "b\n"]), max_size=3).map(tuple),
    max_lines=st.none() | st.integers(1, 6),
    indent_scope=st.booleans(),
)
# The words' logits are above the others' by 0.6: cool enough to write them, warm enough to vary.
samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.0, 0.05, 0.2]),
    top_k=st.sampled_from([0, 3]),
    top_p=st.sampled_from([1.0, 0.9]),
    min_p=st.sampled_from([0.0, 0.05]),
    repetition_penalty=st.sampled_from([1.0, 1.2]),
    penalty_window=st.sampled_from([3, 64]),
    seed=st.integers(0, 2**64 - 1),
)
cases = st.builds(
    Case,
    seed=st.integers(0, 2**32),
    order=st.integers(1, 3),
    prompt=st.lists(st.integers(0, VOCABULARY.size - 1), min_size=1, max_size=40).map(tuple),
    heal=st.sampled_from([b"", b"", b"a", b"ab", b"abcd", b"\n ", b"\xf0\x9f\x98\x80", b"q"]),
    cursor_line=st.sampled_from(["", "    ", "  if x:", "\tfoo"]),
    limits=limits,
    min_rows=st.sampled_from([1, 2]),
    context=st.integers(41, 100),
    chunk=st.sampled_from([1, 3, 64]),
    language=st.sampled_from(["python", "c", "html", ""]),
    sampling=st.just(Sampling()) | samplings,
    snapshots=st.sampled_from([None, None, 1, 7]),
)


def proposers_for(case: Case, answer: Sequence[int]) -> list[list[Proposer]]:
    known = [*case.prompt, *answer, *answer[:5]]
    size = VOCABULARY.size
    return [
        [SuffixProposer()],
        [MotifProposer(VOCABULARY)],
        [AstShadow(VOCABULARY)],
        [Oracle(known, size)],
        [Oracle(known, size, spoil=0.2, seed=case.seed)],
        [AlwaysWrong(known, size)],
        [RandomIds(size, case.seed)],
        [SuffixProposer(), ResumeProposer(), Oracle(known, size, spoil=0.4, seed=case.seed)],
        [SuffixProposer(), Oracle(known, size, spoil=0.4, seed=case.seed), RandomIds(size, case.seed)],
    ]


@settings(max_examples=250, deadline=None)
@given(case=cases)
def test_any_draft_gives_the_outcome_of_none(case: Case) -> None:
    plain_backend = case.backend()
    plain = case.run(plain_backend)
    every = replace(case, limits=Limits(max_tokens=case.limits.max_tokens + 40)).run(case.backend())
    for proposers in proposers_for(case, every.token_ids):
        backend = case.backend()
        drafted = case.run(backend, *proposers)
        assert drafted.token_ids == plain.token_ids
        assert drafted.text == plain.text
        assert drafted.finish == plain.finish
        assert drafted.statistics.new_tokens == plain.statistics.new_tokens
        assert drafted.statistics.steps <= plain.statistics.steps
        assert_cache_holds_what_was_kept(backend, case, drafted)
    assert_cache_holds_what_was_kept(plain_backend, case, plain)


def assert_cache_holds_what_was_kept(backend: ScriptedBackend, case: Case, done: Completion) -> None:
    kept = [*case.prompt, *done.token_ids]
    held = next((ids for ids in backend.kv if ids), [])
    assert held == kept[: len(held)]
    # All but the last id, which may be pending; and the prompt's own last id where nothing was kept.
    # A running state may have to go back to the prompt.
    assert len(held) >= len(kept if case.snapshots is None else case.prompt) - 1


@settings(max_examples=60, deadline=None)
@given(case=cases, shared=st.integers(0, 60), typed=st.lists(st.integers(0, 255), min_size=1, max_size=8))
def test_what_a_slot_reuses_changes_nothing(case: Case, shared: int, typed: list[int]) -> None:
    backend = case.backend()
    selector = eager_selector(case.min_rows)
    decoder = Decoder(backend, [SuffixProposer()], selector, prefill_chunk=case.chunk)
    first = decoder.complete(Task("doc", case.prompt, case.limits, case.heal), CancelToken())
    prompt = (*(*case.prompt, *first.token_ids)[:shared], *typed)[: case.context]
    again = decoder.complete(Task("doc", prompt, case.limits, sampling=case.sampling), CancelToken())
    fresh = replace(case, prompt=prompt, heal=b"", cursor_line="")
    assert again.token_ids == fresh.run(fresh.backend()).token_ids
    if case.snapshots is None:
        assert_cache_holds_what_was_kept(backend, fresh, again)


@settings(max_examples=100, deadline=None)
@given(case=cases)
def test_text_is_what_the_kept_ids_add_up_to_the_cut(case: Case) -> None:
    parts: list[str] = []
    backend = case.backend()
    decoder = Decoder(backend, [SuffixProposer()], eager_selector(case.min_rows), prefill_chunk=case.chunk)
    task = Task("doc", case.prompt, case.limits, case.heal, case.cursor_line)
    done = decoder.complete(task, CancelToken(), parts.append)
    assert "".join(parts) == done.text
    data = b"".join(VOCABULARY.piece(token) for token in done.token_ids)
    assert data[: len(case.heal)] == case.heal[: len(data)]
    added = data[len(case.heal) :].decode(errors="replace")
    assert done.text.startswith(added)
    assert not any(stop in done.text for stop in case.limits.stop)
    if case.limits.max_lines is not None:
        assert done.text.count("\n") < case.limits.max_lines
    assert not set(done.token_ids) & VOCABULARY.control_ids
    assert len(done.token_ids) <= case.limits.max_tokens
    if done.finish is FinishReason.LENGTH:
        room = backend.context - len(case.prompt) + 1
        assert done.statistics.new_tokens == min(case.limits.max_tokens, room)


def test_an_oracle_needs_as_few_steps_as_there_can_be() -> None:
    case = Case(7, 2, (1, 2, 3), b"", "", Limits(max_tokens=48), 1, 200, 64)
    case = next(
        candidate
        for seed in range(100)
        if (candidate := replace(case, seed=seed)).run(candidate.backend()).finish is FinishReason.LENGTH
    )
    plain = case.run(case.backend())
    drafted = case.run(case.backend(), Oracle([*case.prompt, *plain.token_ids], VOCABULARY.size))
    assert plain.statistics.steps == 48
    assert drafted.statistics.steps == 3  # 16 rows each
    assert drafted.statistics.accepted_tokens == drafted.statistics.drafted_tokens == 45


@pytest.mark.parametrize("min_rows", [1, 2])
def test_a_wrong_proposer_costs_no_step(min_rows: int) -> None:
    case = Case(3, 3, (5, 6), b"", "", Limits(max_tokens=30), min_rows, 200, 64)
    plain = case.run(case.backend())
    proposer = AlwaysWrong([*case.prompt, *plain.token_ids], VOCABULARY.size)
    drafted = case.run(case.backend(), proposer)
    assert drafted.statistics.accepted_tokens == 0
    assert drafted.statistics.steps == plain.statistics.steps
    assert all(verdict.rejected for verdict in proposer.verdicts)
