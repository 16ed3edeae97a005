"""Replayed answers: the same ids and the same steps as when the model wrote them, whatever the drafts."""

from __future__ import annotations

import pytest

from tests.support.proposers import AlwaysWrong, FlatCost, Oracle, SteepCost
from velospec import Recording
from velospec.backends.replay import ReplayBackend
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary, script_rule
from velospec.control.acceptance import Acceptance
from velospec.control.frozen_cost import FrozenCost
from velospec.control.selector import Selector
from velospec.core.cancellation import CancelToken
from velospec.core.errors import BackendError
from velospec.core.request import Completion, Limits
from velospec.core.step import Step
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import Proposer
from velospec.proposers.suffix import SuffixProposer

VOCABULARY = ScriptedVocabulary((b"    ", b"self."))
PROMPT = tuple(VOCABULARY.encode("self.a = a\nself.b = b\n"))
TEXT = tuple(VOCABULARY.encode("self.c = c\nself.d = d\nself.e = e\n"))
LIMITS = Limits(max_tokens=64)


def proposers() -> list[list[Proposer]]:
    everything = (*PROMPT, *TEXT)
    return [
        [],
        [SuffixProposer()],
        [Oracle(everything, VOCABULARY.size)],
        [Oracle(everything, VOCABULARY.size, spoil=0.3)],
        [AlwaysWrong(everything, VOCABULARY.size), SuffixProposer()],
    ]


def decode(backend: ScriptedBackend | ReplayBackend, chosen: list[Proposer]) -> tuple[Completion, list[Step]]:
    steps: list[Step] = []
    selector = Selector(Acceptance(), FrozenCost(FlatCost()), min_rows=backend.min_rows)
    decoder = Decoder(backend, chosen, selector)
    done = decoder.complete(Task("a", PROMPT, LIMITS), CancelToken(), on_step=steps.append)
    return done, steps


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("min_rows", [1, 2])
def test_a_replay_takes_the_steps_of_the_real_run(number: int, min_rows: int) -> None:
    rule = script_rule(VOCABULARY, TEXT, after=len(PROMPT))
    real, steps = decode(ScriptedBackend(rule, VOCABULARY, min_rows=min_rows), proposers()[number])
    assert real.token_ids == TEXT
    decided = tuple(token for step in steps for token in step.verdict.ids)[: real.statistics.new_tokens]
    answer = Recording(decided, (1.0,) * len(decided))
    backend = ReplayBackend(VOCABULARY, PROMPT, answer, min_rows=min_rows, max_rows=16)
    again, replayed = decode(backend, proposers()[number])
    assert (again.text, again.token_ids, again.finish) == (real.text, real.token_ids, real.finish)
    assert [step.verdict.draft for step in replayed] == [step.verdict.draft for step in steps]
    assert [step.verdict.ids for step in replayed][:-1] == [step.verdict.ids for step in steps][:-1]


def test_a_replay_gives_the_margins_back() -> None:
    answer = Recording(TEXT, tuple(0.5 + index for index in range(len(TEXT))))
    backend = ReplayBackend(VOCABULARY, PROMPT, answer, min_rows=1, max_rows=16)
    _, steps = decode(backend, [])
    assert [step.verdict.margins for step in steps[: len(TEXT)]] == [(margin,) for margin in answer.margins]


def test_a_replay_holds_to_the_rules_of_a_backend() -> None:
    backend = ReplayBackend(VOCABULARY, PROMPT, Recording(TEXT, (1.0,) * len(TEXT)), min_rows=1, max_rows=4)
    backend.prefill(0, PROMPT[:-1], 0)
    with pytest.raises(BackendError):
        backend.decode(0, PROMPT[-1:], 3)
    with pytest.raises(BackendError):
        backend.truncate(0, len(PROMPT))
    with pytest.raises(BackendError):
        backend.prefill(0, [1] * 100, len(PROMPT) - 1)
    assert backend.truncate(0, 2) == 2


def test_a_frozen_cost_learns_nothing() -> None:
    inner = SteepCost()
    frozen = FrozenCost(inner)
    frozen.observe(3, 10, 5.0)
    assert (frozen.seconds(3, 10), inner.observed) == (3.0, [])
