"""Sampled text: distributed as the target says with drafts as without, and made by the seed alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.support.proposers import TestProposer, eager_selector
from tests.support.sampling import Probabilities, chi_square, is_plausible, probabilities
from velospec.backends.base import Logits
from velospec.backends.scripted import ScriptedBackend, ScriptedVocabulary
from velospec.core.cancellation import CancelToken
from velospec.core.request import Completion, FinishReason, Limits, Sampling
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.base import Proposer
from velospec.proposers.suffix import SuffixProposer

DRAWS = 20_000
LENGTH = 200
WORDS = tuple(b"abcdefghij")  # what the model likes to write; a byte is its own id
VOCABULARY = ScriptedVocabulary()
WARM = Sampling(temperature=1)
ALL = Sampling(1.2, top_k=8, top_p=0.95, min_p=0.1, repetition_penalty=1.5, penalty_window=2)


@cache
def logits_after(last: int) -> Logits:
    generator = np.random.default_rng(last)
    values = np.full(VOCABULARY.size, -np.inf, dtype=np.float32)
    values[:128] = generator.uniform(-6, -5, 128)
    values[list(WORDS)] = generator.uniform(-1.5, 2, len(WORDS))
    return values


class Guess(TestProposer):
    """Any of the likely ids."""

    name = "guess"

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = np.random.default_rng(seed)

    def draft(self, limit: int) -> Sequence[int]:
        return self._generator.choice(WORDS, min(limit, 4)).tolist()


class Always(TestProposer):
    """One id, time and again."""

    name = "always"

    def draft(self, limit: int) -> Sequence[int]:
        return [WORDS[0]][:limit]


def write(
    sampling: Sampling, *proposers: Proposer, length: int = LENGTH, limits: Limits | None = None
) -> Completion:
    backend = ScriptedBackend(lambda ids: logits_after(ids[-1]), VOCABULARY, context=length + 2)
    decoder = Decoder(backend, proposers, eager_selector())
    limits = limits or Limits(max_tokens=length)
    task = Task("doc", [WORDS[0], WORDS[1]], limits, sampling=sampling, speculate=bool(proposers))
    return decoder.complete(task, CancelToken())


@pytest.mark.parametrize(
    ("sampling", "drafts"),
    [
        pytest.param(WARM, False, id="temperature"),
        pytest.param(WARM, True, id="temperature, drafts"),
        pytest.param(Sampling(temperature=0.7, top_k=5), True, id="top-k, drafts"),
        pytest.param(Sampling(temperature=1.5, top_p=0.8), True, id="top-p, drafts"),
        pytest.param(ALL, False, id="all"),
        pytest.param(ALL, True, id="all, drafts"),
    ],
)
def test_twenty_thousand_draws_are_distributed_as_the_target_says(sampling: Sampling, drafts: bool) -> None:
    drawn: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)  # by the two ids before
    accepted = 0
    for seed in range(DRAWS // LENGTH):
        proposers: list[Proposer] = [Guess(seed)] if drafts else []
        done = write(replace(sampling, seed=seed), *proposers)
        accepted += done.statistics.accepted_tokens
        ids = (WORDS[0], WORDS[1], *done.token_ids)
        for before, last, token in zip(ids, ids[1:], ids[2:], strict=False):
            drawn[before, last][token] += 1
    assert sum(counts.total() for counts in drawn.values()) == DRAWS
    assert accepted > DRAWS / 20 if drafts else accepted == 0
    assert is_plausible(*total_chi_square(drawn, sampling))
    # The test can tell: a fifth warmer is another distribution.
    warmer = replace(sampling, temperature=sampling.temperature * 1.2)
    assert not is_plausible(*total_chi_square(drawn, warmer))


def total_chi_square(drawn: dict[tuple[int, int], Counter[int]], sampling: Sampling) -> tuple[float, int]:
    """Over all contexts of two ids that came up often enough to be tested."""

    @cache
    def expected(before: tuple[int, ...]) -> Probabilities:
        return probabilities(logits_after(before[-1]).tolist(), sampling, before)

    by_last = not sampling.penalizes  # then the first of the two makes no difference
    joined: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for context, counts in drawn.items():
        joined[context[1:] if by_last else context] += counts
    parts = [chi_square(counts, expected(context)) for context, counts in joined.items()]
    parts = [(statistic, freedom) for statistic, freedom in parts if freedom > 0]
    assert len(parts) >= len(WORDS)
    return sum(statistic for statistic, _ in parts), sum(freedom for _, freedom in parts)


def test_a_draft_is_accepted_as_often_as_its_id_is_likely() -> None:
    likely = {last: probabilities(logits_after(last).tolist(), WARM)[WORDS[0]] for last in range(128)}
    hits: Counter[int] = Counter()
    expected = 0.0
    for seed in range(10):
        proposer = Always()
        ids = (WORDS[1], *write(replace(WARM, seed=seed), proposer).token_ids)
        position = 0
        for verdict in proposer.verdicts:
            expected += likely[ids[position]]
            hits[verdict.accepted] += 1
            position += verdict.accepted + 1
    share = expected / hits.total()
    assert is_plausible(*chi_square(hits, np.array([1 - share, share])))


def test_a_seed_makes_the_text_and_drafts_only_the_steps() -> None:
    for seed in range(10):
        sampling = Sampling(0.7, repetition_penalty=1.1, seed=seed)
        plain = write(sampling, length=200)
        drafted = write(sampling, Guess(seed), SuffixProposer(), length=200)
        assert drafted.token_ids == plain.token_ids
        assert drafted.statistics.steps < plain.statistics.steps == 200
        assert write(replace(sampling, seed=seed + 1), length=200).token_ids != plain.token_ids


def test_a_draw_does_not_depend_on_what_was_drawn_before() -> None:
    """Position by position the seed decides: after the same id, two texts go on in step."""
    texts = [write(Sampling(0.7, seed=1), length=length).token_ids for length in (50, 200)]
    assert texts[1][:50] == texts[0]


def test_greedy_in_other_words_is_greedy() -> None:
    greedy = write(Sampling(), length=100).token_ids
    for sampling in (Sampling(seed=4, top_k=7, top_p=0.5), Sampling(temperature=1.3, top_k=1, seed=4)):
        assert write(sampling, Guess(3), length=100).token_ids == greedy


def test_stops_cut_inside_what_was_accepted() -> None:
    for seed in range(20):
        sampling = replace(WARM, seed=seed)
        limits = Limits(max_tokens=200, stop=("aa", "bc", "ji"), ignore_end=True)
        plain = write(sampling, limits=limits)
        drafted = write(sampling, Guess(seed), limits=limits)
        assert plain.finish is FinishReason.STOP
        assert (drafted.text, drafted.token_ids, drafted.finish) == (
            plain.text,
            plain.token_ids,
            plain.finish,
        )
        assert not any(stop in drafted.text for stop in limits.stop)
