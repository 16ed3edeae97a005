"""Sampling verification on bare logits, held against sampling by the book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sampling import chi_square, is_plausible, penalized, probabilities
from velospec.constraints.base import Ids
from velospec.core.draft import EMPTY, Draft
from velospec.core.errors import BackendError
from velospec.core.request import Sampling
from velospec.verify.candidates import Candidates
from velospec.verify.distribution import draw, invert, largest, nucleus
from velospec.verify.greedy import GreedyVerifier
from velospec.verify.sampling import SamplingVerifier, _mix, uniform

NAN, INF = float("nan"), float("inf")
NO_IDS = np.array([], dtype=np.intp)


class OnlyAfter:
    """Allows other ids in each row: those given for its place."""

    def __init__(self, *rows: Sequence[int]) -> None:
        self._rows = [np.array(row, dtype=np.int32) for row in rows]

    slow_masks = False

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        allowed = self.allowed(ahead)
        return allowed is None or token in allowed

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        return self._rows[len(ahead)]

    def ends(self, ahead: Sequence[int]) -> bool:  # noqa: ARG002  (a protocol)
        return False

    def trim(self, ids: Sequence[int]) -> int:
        return len(ids)

    def advance(self, ids: Sequence[int]) -> None:  # noqa: ARG002  (a protocol)
        raise AssertionError("the verifier moves no constraint")


samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.001, 0.3, 0.8, 1.0, 1.7, 30.0]),
    top_k=st.sampled_from([0, 1, 2, 5, 17, 500]),
    top_p=st.sampled_from([1.0, 0.99, 0.9, 0.5, 0.001]),
    min_p=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.7]),
    penalty_window=st.sampled_from([0, 1, 3, 64]),
    seed=st.integers(0, 2**64 - 1),
)


def random_logits(seed: int, *shape: int) -> np.ndarray:
    """With ties, on both sides of 0; eighths, so that no threshold falls between roundings of one value."""
    generator = np.random.default_rng(seed)
    return (generator.integers(-20, 33, shape) / 8).astype(np.float32)


@settings(max_examples=150, deadline=None)
@given(sampling=samplings, seed=st.integers(0, 2**32), size=st.sampled_from([1, 2, 40, 700]))
def test_each_token_has_the_share_of_the_interval_that_is_its_probability(
    sampling: Sampling, seed: int, size: int
) -> None:
    logits = random_logits(seed, size)
    points = 400
    drawn = Counter(
        draw(logits.copy(), float(logits.max()), sampling, (point + 0.5) / points) for point in range(points)
    )
    expected = probabilities(logits.tolist(), sampling)
    share = np.array([drawn[token] / points for token in range(size)])
    # An interval holds as many of the points as its length, give or take one.
    assert np.abs(share - expected).max() <= 1.001 / points


def test_tokens_are_drawn_in_the_order_of_their_ids() -> None:
    logits = random_logits(5, 3000)
    sampling = Sampling(temperature=2.0, top_p=0.9)
    drawn = [draw(logits.copy(), float(logits.max()), sampling, point / 500) for point in range(500)]
    assert drawn == sorted(drawn)
    assert len(set(drawn)) > 300


@given(
    values=st.lists(st.integers(-3, 60), min_size=1, max_size=40),
    repeat=st.sampled_from([1, 3, 90]),
    count=st.integers(1, 200),
)
def test_the_largest_are_the_first_of_a_stable_sort(values: list[int], repeat: int, count: int) -> None:
    array = np.array(values * repeat, dtype=np.float32)
    expected = sorted(sorted(range(array.size), key=lambda place: (-array[place], place))[:count])
    assert largest(array, count).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.1, 0.5, 0.9, 0.99, 0.999999]))
def test_a_nucleus_of_any_size_is_the_shortest_prefix_of_a_stable_sort(seed: int, share: float) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 6000))
    weights = np.exp2(generator.integers(-20, 1, size) * generator.choice([0, 0.5, 1])).astype(np.float32)
    order = sorted(range(size), key=lambda place: (-weights[place], place))
    mass = np.cumsum(weights[order], dtype=np.float64)
    found = nucleus(weights, share)
    assert sorted(order[: found.size]) == found.tolist()
    slack = 1e-6 * mass[-1]  # of the sums of float32
    assert mass[found.size - 1] >= share * mass[-1] - slack
    assert found.size == 1 or mass[found.size - 2] < share * mass[-1] + slack


@pytest.mark.parametrize("size", [3, 512, 513, 2000])
def test_no_weightless_place_is_drawn_not_even_at_the_ends(size: int) -> None:
    weights = np.zeros(size, dtype=np.float32)
    weights[[1, size - 2]] = 0.25
    drawn = [invert(weights, u) for u in (0.0, 0.4999, 0.5001, 1 - 2.0**-53)]
    assert drawn == [1, 1, size - 2, size - 2]


def test_the_generator_is_splitmix64() -> None:
    # The first two outputs for the seed 0, as published with the algorithm.
    assert _mix(0) == 0xE220A8397B1DCDAF
    assert _mix(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


@pytest.mark.parametrize("axis", ["positions", "seeds"])
def test_the_numbers_drawn_are_uniform_and_independent(axis: str) -> None:
    pairs = [(17, i) if axis == "positions" else (i, 17) for i in range(20_000)]
    numbers = [uniform(*pair) for pair in pairs]
    assert all(0 <= number < 1 for number in numbers)
    tens = [int(10 * number) for number in numbers]
    assert is_plausible(*chi_square(Counter(tens), np.full(10, 0.1)))
    couples = [10 * left + right for left, right in zip(tens[::2], tens[1::2], strict=True)]
    assert is_plausible(*chi_square(Counter(couples), np.full(100, 0.01)))


@settings(max_examples=100, deadline=None)
@given(sampling=samplings, seed=st.integers(0, 2**32), data=st.data())
def test_a_draft_is_accepted_as_far_as_it_equals_the_draws_without_it(
    sampling: Sampling, seed: int, data: st.DataObject
) -> None:
    size, rows = 30, 5
    logits = random_logits(seed, rows, size)
    prompt, written = [1, 2, 3, 2, 7], [4, 9]
    verifier = SamplingVerifier(sampling, prompt, banned=[0, 29], end_ids=[28])
    alone: list[int] = []
    for row in logits:
        alone.append(verifier.decide(row[None], EMPTY, None, [*written, *alone]).bonus)
    right = data.draw(st.integers(0, rows - 1))
    wrong = data.draw(st.lists(st.integers(0, size - 1), max_size=rows - 1 - right))
    draft = Draft((*alone[:right], *wrong), "test")
    verdict = verifier.decide(logits, draft, None, written)
    agreed = next((i for i, token in enumerate(draft.ids) if token != alone[i]), len(draft))
    assert verdict.ids == tuple(alone[: agreed + 1])
    assert len(verdict.margins) == len(verdict.ids)


@settings(max_examples=100, deadline=None)
@given(sampling=samplings, seed=st.integers(0, 2**32))
def test_margins_are_those_of_the_penalized_logits(sampling: Sampling, seed: int) -> None:
    logits = random_logits(seed, 3, 30)
    draft = Draft((3, 5), "test")
    before = [3, 8, 8, 11]
    verdict = SamplingVerifier(sampling, before[:3]).decide(logits, draft, None, before[3:])
    for row, margin in enumerate(verdict.margins):
        values = penalized(logits[row].tolist(), sampling, [*before, *draft.ids[:row]])
        first, second = sorted(values, reverse=True)[:2]
        assert margin == pytest.approx(first - second, abs=1e-5)


@settings(max_examples=200, deadline=None)
@given(
    penalty=st.sampled_from([0.5, 1.1, 1.9]),
    window=st.integers(0, 12),
    seed=st.integers(0, 2**32),
    prompt=st.lists(st.integers(0, 11), max_size=9),
    written=st.lists(st.integers(0, 11), max_size=9),
)
def test_penalties_inside_a_draft_are_those_of_one_token_after_the_other(
    penalty: float, window: int, seed: int, prompt: list[int], written: list[int]
) -> None:
    sampling = Sampling(repetition_penalty=penalty, penalty_window=window)
    logits = random_logits(seed, 8, 12)
    expected: list[int] = []
    for row in logits:
        values = penalized(row.tolist(), sampling, [*prompt, *written, *expected])
        expected.append(values.index(max(values)))
    verifier = SamplingVerifier(sampling, prompt)
    verdict = verifier.decide(logits, Draft(tuple(expected[:-1]), "test"), None, written)
    assert verdict.ids == tuple(expected)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(seed=1),
        Sampling(temperature=1.5, top_k=1, seed=1),
        Sampling(temperature=0.001, seed=1),
        Sampling(temperature=1, top_p=0.001, seed=1),
        Sampling(temperature=1, min_p=1, seed=1),
    ],
    ids=["temperature 0", "top-k 1", "hardly warm", "top-p next to nothing", "min-p 1"],
)
def test_with_one_token_left_sampling_is_greedy(sampling: Sampling) -> None:
    generator = np.random.default_rng(3)
    for _ in range(200):
        row = generator.permutation(300).astype(np.float32)[None]
        constraint = OnlyAfter(sorted(generator.choice(300, 20, replace=False).tolist()))
        greedy = GreedyVerifier({290, 3}, {4})
        sampled = SamplingVerifier(sampling, (), banned={290, 3}, end_ids={4})
        assert sampled.final == greedy.final
        assert sampled.decide(row, EMPTY) == greedy.decide(row, EMPTY)
        exact, least = sampled.decide(row, EMPTY, constraint), greedy.decide(row, EMPTY, constraint)
        assert exact.ids == least.ids
        assert 0 < least.margins[0] <= exact.margins[0]  # without a mask it is not known more exactly


def test_masks_come_first_and_hold_row_by_row() -> None:
    logits = random_logits(8, 2, 40)
    logits[0, [3, 9, 10, 22, 30]] = [1, 9, 1.5, 1.25, -0.5]
    logits[1, [2, 10, 25]] = [0.5, 1.5, 9]
    allowed = [3, 9, 10, 22, 30], [2, 10, 25]
    sampling = Sampling(temperature=1.3, top_k=4, top_p=0.9, repetition_penalty=1.4, penalty_window=3)
    prompt = [3, 9, 22]
    constraint = OnlyAfter(*allowed)
    drawn: list[Counter[int]] = [Counter(), Counter()]
    for seed in range(4000):
        verifier = SamplingVerifier(replace(sampling, seed=seed), prompt, banned=[9, 25])
        verdict = verifier.decide(logits, Draft((10,), "test"), constraint)
        for row, token in enumerate(verdict.ids):
            drawn[row][token] += 1
    first = probabilities(logits[0].tolist(), sampling, prompt, [3, 10, 22, 30])
    second = probabilities(logits[1].tolist(), sampling, [*prompt, 10], [2, 10])
    assert is_plausible(*chi_square(drawn[0], first))
    assert is_plausible(*chi_square(drawn[1], second))
    assert drawn[1].total() == drawn[0][10] > 400


def test_a_seed_not_given_is_a_new_one_for_each_request() -> None:
    logits = np.zeros((1, 5000), dtype=np.float32)
    drawn = {SamplingVerifier(Sampling(temperature=1), ()).decide(logits, EMPTY).bonus for _ in range(5)}
    assert len(drawn) > 1


@pytest.mark.parametrize("sampling", [Sampling(temperature=1), Sampling(repetition_penalty=1.5)])
def test_what_is_no_number_is_never_drawn_and_logits_are_left_as_they_are(sampling: Sampling) -> None:
    logits = np.array([[NAN, -INF, 2, NAN, 2.5, 99]], dtype=np.float32)
    before = logits.copy()
    verifier = SamplingVerifier(sampling, [0, 1, 2], banned=[5])
    assert {verifier.decide(logits, EMPTY, None, [0] * i).bonus for i in range(40)} <= {2, 4}
    np.testing.assert_array_equal(logits, before)


@pytest.mark.parametrize("row", [[NAN, NAN, 1], [-INF, -INF, 1], [INF, 0, 1]])
def test_no_usable_logit_is_an_error(row: list[float]) -> None:
    with pytest.raises(BackendError):
        SamplingVerifier(Sampling(temperature=1), (), banned=[2]).decide(np.float32([row]), EMPTY)


def test_candidates_say_where_ids_stand() -> None:
    row = np.arange(10, dtype=np.float32)
    some = Candidates.of(row, np.array([2, 5, 9], dtype=np.int32), np.array([5, 7], dtype=np.intp))
    assert some.values.tolist() == [2, -INF, 9]
    assert some.places(np.array([9, 9, 1, 2, 11])).tolist() == [2, 2, 0]
    assert some.best() == (2, 7.0)
    assert some.id_at(2) == 9
    lone = Candidates.of(row, np.array([4], dtype=np.int32), NO_IDS)
    assert lone.best() == (0, INF)
