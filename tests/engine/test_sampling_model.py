"""Sampling with the real default model: the seed makes the text, whatever is drafted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.prompts import PROMPTS
from tests.support.proposers import eager_selector
from velospec import CancelToken, Engine, InfillRequest, InstalledModel, Limits, Sampling
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.suffix import SuffixProposer

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

LIMITS = Limits(max_tokens=48, ignore_end=True)
COOL = Sampling(temperature=0.4, top_p=0.95, seed=11)


@pytest.fixture(scope="module")
def engine(default_model: InstalledModel) -> Iterator[Engine]:
    engine = Engine.open(default_model, slots=2)
    if engine.profile is None:
        engine.measure()
    assert engine.numerics.exact, engine.numerics.reason
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("prompt", "sampling"),
    [
        (0, COOL),
        (1, Sampling(temperature=1, top_k=20, min_p=0.05, seed=12)),
        (2, Sampling(repetition_penalty=1.05, penalty_window=32)),
    ],
    ids=["top-p", "top-k and min-p", "greedy with a penalty"],
)
def test_drafts_change_no_token_of_a_seed(engine: Engine, prompt: int, sampling: Sampling) -> None:
    backend = engine._backend
    decoder = Decoder(backend, [SuffixProposer()], eager_selector(backend.min_rows))
    ids = backend.vocabulary.encode(PROMPTS[prompt].text)
    task = Task("plain", ids, LIMITS, speculate=False, sampling=sampling)
    plain = decoder.complete(task, CancelToken())
    drafted = decoder.complete(replace(task, document="drafted", speculate=True), CancelToken())
    engine._configure(engine.numerics)  # the slots were used behind its back
    assert len(plain.token_ids) == plain.statistics.steps == LIMITS.max_tokens
    assert drafted.token_ids == plain.token_ids
    assert drafted.text == plain.text
    assert drafted.statistics.drafted_tokens > 10


def test_an_infill_is_made_by_its_seed_and_heals_its_token(engine: Engine) -> None:
    request = InfillRequest("a.py", "def double(number):\n    retu", "\n\nprint(double(4))\n", "a.py")
    request = replace(request, limits=Limits(max_tokens=12), sampling=replace(COOL, temperature=1.0))
    first = engine.infill(request, CancelToken())
    again = engine.infill(replace(request, document="b.py", speculate=False), CancelToken())
    assert first.text == again.text
    assert first.text.startswith("rn")
    seeds = [replace(request, sampling=replace(request.sampling, seed=seed)) for seed in range(3)]
    assert len({engine.infill(seeded, CancelToken()).text for seeded in seeds}) > 1
