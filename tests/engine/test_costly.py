"""When a draft model is asked: where its time pays, and next to never where it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.support.proposers import FlatCost
from velospec.backends.base import Logits
from velospec.backends.scripted import Rule, ScriptedBackend, ScriptedVocabulary, hash_rule
from velospec.control.acceptance import Acceptance
from velospec.control.costly import EXPLORATION, Worth
from velospec.control.selector import Selector
from velospec.core.cancellation import CancelToken
from velospec.core.draft import EMPTY, Draft
from velospec.core.price import Price
from velospec.core.request import Limits
from velospec.decode.consulted import Consulted
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.draft_model import DraftModel

VOCABULARY = ScriptedVocabulary()
TARGET = hash_rule(VOCABULARY, seed=5, order=4)
PROMPT = tuple(b"some text to go on from: ")
TOKENS = 900
SINGLE = 1 / 64  # seconds of one row


class Curve(FlatCost):
    """Seconds by rows: the first row takes SINGLE, each further one `slope` of it."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self._slope = slope

    def seconds(self, rows: int, context: int = 0) -> float:  # noqa: ARG002  (a protocol)
        return SINGLE * (1 + (rows - 1) * self._slope)


GPU, CPU = Curve(0.03), Curve(0.45)  # about what two cores and a fast GPU show


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TimedBackend(ScriptedBackend):
    """Spends `seconds(rows)` of `clock` on each call."""

    def __init__(self, rule: Rule, clock: Clock, seconds: Callable[[int], float]) -> None:
        super().__init__(rule, VOCABULARY, context=1200)
        self.spent = 0.0
        self._clock = clock
        self.seconds = seconds

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        super().prefill(slot, ids, position)
        self._spend(len(ids))

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        logits = super().decode(slot, ids, position)
        self._spend(len(ids))
        return logits

    def _spend(self, rows: int) -> None:
        self.spent += self.seconds(rows)
        self._clock.now += self.seconds(rows)


class Run:
    """Requests with a draft model whose rows take `share` of the target's; all figures are of the last."""

    def __init__(self, curve: Curve, share: float, draft: Rule, requests: int = 1) -> None:
        clock = Clock()
        self.target = TimedBackend(TARGET, clock, curve.seconds)
        self.draft = TimedBackend(draft, clock, lambda rows: share * curve.seconds(rows))
        acceptance = Acceptance()
        model = DraftModel(self.draft, VOCABULARY.size, clock=clock)
        consulted = Consulted(model, Worth(acceptance, curve), clock=clock)
        decoder = Decoder(self.target, [consulted], Selector(acceptance, curve))
        for number in range(requests):
            task = Task("doc", (*PROMPT, number), Limits(max_tokens=TOKENS, ignore_end=True))
            self.target.calls.clear()
            self.draft.spent = 0.0
            self.completion = decoder.complete(task, CancelToken())

    @property
    def share(self) -> float:
        """Of the time that plain decoding takes, reading the prompt left out."""
        calls = [call for call in self.target.calls if call.kind == "decode"]
        scoring = sum(self.target.seconds(len(call.ids)) for call in calls)
        return (scoring + self.draft.spent) / (TOKENS * SINGLE)


def agreeing(share: Callable[[int], float]) -> Rule:
    """A draft model that chooses as the target does with the chance `share` of the text's length, surely."""

    def logits(ids: tuple[int, ...]) -> Logits:
        values = TARGET(ids).copy()
        same = np.random.default_rng((11, *ids[-6:])).random() < share(len(ids))
        best = int(np.argmax(values))
        values[best if same else (best + 1) % VOCABULARY.size] += 20
        return values

    return logits


def test_where_rows_are_cheap_it_is_asked_in_nearly_every_step() -> None:
    run = Run(GPU, 0.1, agreeing(lambda _length: 0.8))
    assert run.completion.statistics.proposers["draft_model"].batches > 0.95 * run.completion.statistics.steps
    assert run.share < 0.5


@pytest.mark.parametrize("agreement", [0.0, 0.3, 0.78])
def test_where_it_does_not_pay_it_takes_next_to_no_time(agreement: float) -> None:
    run = Run(CPU, 0.4, agreeing(lambda _length: agreement))
    assert run.draft.spent <= EXPLORATION * TOKENS * SINGLE
    assert run.share < 1 + 2 * EXPLORATION


def test_where_it_could_never_pay_it_is_never_asked() -> None:
    run = Run(CPU, 0.6, agreeing(lambda _length: 1.0))
    assert run.draft.spent == 0
    assert run.share == 1


def test_it_comes_back_where_a_later_text_suits_it() -> None:
    run = Run(GPU, 0.3, agreeing(lambda length: 0.0 if length < 300 else 0.95))
    written = [len(call.ids) for call in run.target.calls if call.kind == "decode"]
    assert run.share < 0.85
    assert np.mean(written[:100]) < 1.2
    assert np.mean(written[-50:]) > 3


def test_it_finds_out_in_a_few_requests_that_it_is_better_than_expected() -> None:
    rule = agreeing(lambda _length: 0.97)
    assert Run(CPU, 0.2, rule).share == 1
    assert Run(CPU, 0.2, rule, requests=4).share < 0.9


def test_a_long_unread_prompt_has_to_be_worth_reading() -> None:
    worth = Worth(Acceptance(), GPU)
    cheap = Price(0.1 * SINGLE, 0.1 * SINGLE)
    assert worth.length(cheap, EMPTY, context=100, limit=8, left=100) > 1
    unread = Price(0.1 * SINGLE, 0.1 * SINGLE, unread=20 * SINGLE)
    assert worth.length(unread, EMPTY, context=100, limit=8, left=100) > 1
    assert worth.length(unread, EMPTY, context=100, limit=8, left=20) == 0


def test_it_is_not_asked_where_a_sure_draft_is_there_for_nothing() -> None:
    acceptance = Acceptance()
    sure = Draft(tuple(range(8)), "suffix", evidence=8)
    for _ in range(60):
        acceptance.observe(sure, sure.ids)
    worth = Worth(acceptance, GPU)
    assert worth.length(Price(0.3 * SINGLE, 0.3 * SINGLE), EMPTY, context=100, limit=8, left=100) > 0
    assert worth.length(Price(0.3 * SINGLE, 0.3 * SINGLE), sure, context=100, limit=8, left=100) == 0
