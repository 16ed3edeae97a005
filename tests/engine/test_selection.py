"""Acceptance estimates, and the choice of draft and length by expected tokens per second."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tests.support.proposers import FlatCost, SteepCost
from velospec.control.acceptance import Acceptance, scale_odds
from velospec.control.selector import CAUTION, Selector
from velospec.core.draft import EMPTY, Draft, Verdict


class CurveCost(FlatCost):
    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def seconds(self, rows: int, context: int = 0) -> float:
        return self._seconds[rows - 1] * (1 + context / 1000)


def draft(*ids: int, proposer: str = "suffix", evidence: int = 0, prior: float = 0.5) -> Draft:
    return Draft(ids, proposer, evidence, prior)


def test_the_prior_holds_until_something_is_counted() -> None:
    acceptance = Acceptance()
    offered = draft(*range(30), prior=0.3)
    chances = acceptance.chances(offered)
    assert chances == [acceptance.probability(offered, position) for position in range(30)]
    assert chances[:2] == pytest.approx([0.3, 0.475])
    assert all(a <= b < 1 for a, b in itertools.pairwise(chances))


@pytest.mark.parametrize("truth", [0.1, 0.5, 0.9])
def test_estimates_approach_the_true_rate(truth: float) -> None:
    acceptance, generator = Acceptance(), random.Random(3)  # noqa: S311  (test data)
    offered = draft(1, 2, 3)
    estimates = []
    for _ in range(2000):
        wrong = next((i for i in range(3) if generator.random() >= truth), 3)
        acceptance.observe(offered, [*offered.ids[:wrong], 99])
        estimates.append([acceptance.probability(offered, position) for position in range(3)])
    # The prior of one half keeps a fifth of the say, and the ids' own factors take some of that back.
    for position in range(2):
        mean = sum(row[position] for row in estimates[500:]) / 1500
        assert mean == pytest.approx(truth, abs=0.1)


def test_estimates_follow_a_change() -> None:
    acceptance, offered = Acceptance(), draft(1)
    for _ in range(200):
        acceptance.observe(offered, [1])
    assert acceptance.probability(offered, 0) > 0.9
    for _ in range(60):
        acceptance.observe(offered, [2])
    assert acceptance.probability(offered, 0) < 0.3


def test_what_was_not_decided_is_not_counted() -> None:
    acceptance, offered = Acceptance(), draft(1, 2, 3)
    before = acceptance.chances(offered)
    acceptance.observe(offered, [1])  # cut to no row at all: only the first id can be compared
    after = acceptance.chances(offered)
    assert after[0] > before[0]
    assert after[1:] == before[1:]
    acceptance.observe(offered, [7, 2])  # what follows a wrong id tells nothing
    assert acceptance.chances(offered)[1:] == before[1:]


def test_counts_are_kept_apart_by_proposer_and_evidence() -> None:
    acceptance = Acceptance()
    for _ in range(50):
        acceptance.observe(draft(1), [1])
    assert acceptance.probability(draft(2), 0) > 0.8
    assert acceptance.probability(draft(2, evidence=1), 0) == pytest.approx(0.5)
    assert acceptance.probability(draft(2, proposer="other"), 0) == pytest.approx(0.5)


def test_an_id_that_tends_to_be_right_or_wrong_is_known_for_its_proposer() -> None:
    acceptance = Acceptance()
    for _ in range(40):
        acceptance.observe(draft(1), [1])
        acceptance.observe(draft(2), [9])
    sure, unknown, wrong = acceptance.chances(draft(1, 3, 2, evidence=1))
    assert sure > 0.75
    assert unknown == pytest.approx(0.625)
    assert wrong < 0.5
    assert acceptance.chances(draft(1, 3, 2, proposer="other")) == pytest.approx([0.5, 0.625, 0.71875])
    for _ in range(60):
        acceptance.observe(draft(2), [2])
    assert acceptance.chances(draft(1, 3, 2, evidence=1))[2] > 0.75


def test_one_observation_of_an_id_scales_its_odds() -> None:
    acceptance = Acceptance()
    acceptance.observe(draft(1), [1])
    factor = math.exp(0.5 / (0.25 + 1))  # half an acceptance more than promised, over variance and its weight
    assert acceptance.probability(draft(1, evidence=1), 0) == pytest.approx(factor / (1 + factor))


def test_a_draft_is_cut_before_an_id_that_tends_to_be_wrong() -> None:
    acceptance = Acceptance()
    selector = Selector(acceptance, CurveCost(1, 1.3, 1.6, 1.9, 2.2))
    offered = draft(1, 2, 3, 4, prior=0.9)
    assert selector.choose([offered]) == offered
    for _ in range(40):
        acceptance.observe(draft(3, evidence=1), [9])
        acceptance.observe(draft(8, evidence=1), [8])
    assert selector.choose([offered]).ids == (1, 2)


@pytest.mark.parametrize(("chance", "factor", "scaled"), [(0.5, 1, 0.5), (0.5, 3, 0.75), (0.8, 0.25, 0.5)])
def test_odds_are_scaled(chance: float, factor: float, scaled: float) -> None:
    assert scale_odds(chance, factor) == pytest.approx(scaled)
    assert scale_odds(scaled, 1 / factor) == pytest.approx(chance)


def expected_best(chances: list[float], seconds: list[float], length: int) -> int:
    rates, survival, tokens = [1 / seconds[0]], 1.0, 1.0
    for index in range(length):
        survival *= scale_odds(chances[index], CAUTION)
        tokens += survival
        rates.append(tokens / seconds[index + 1])
    return rates.index(max(rates))


@pytest.mark.parametrize("prior", [0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99])
@pytest.mark.parametrize(
    "seconds",
    [[1, 1.47, 1.7, 1.92, 2.14, 2.36, 2.58, 2.8], [1, 1.1, 1.2, 1.3, 3.0, 3.1, 3.2, 3.3], [1.0] * 8],
)
def test_the_length_maximises_tokens_per_second(prior: float, seconds: list[float]) -> None:
    acceptance = Acceptance()
    offered = draft(*range(7), prior=prior)
    chosen = Selector(acceptance, CurveCost(*seconds)).choose([offered])
    assert len(chosen) == expected_best(acceptance.chances(offered), seconds, 7)
    assert chosen.ids == offered.ids[: len(chosen)]


def test_a_draft_that_would_just_pay_by_the_estimate_is_left_alone() -> None:
    # By the estimate 1.5 tokens in the time of 1.4; by odds of 0.6 only 1.375.
    offered = draft(1, prior=0.5)
    assert Selector(Acceptance(), CurveCost(1, 1.4)).choose([offered]) is EMPTY
    assert Selector(Acceptance(), CurveCost(1, 1.37)).choose([offered]) == offered


def test_no_draft_where_rows_cost_as_much_as_tokens_bring() -> None:
    assert Selector(Acceptance(), SteepCost()).choose([draft(1, 2, prior=0.99)]) is EMPTY
    assert Selector(Acceptance(), FlatCost()).choose([]) is EMPTY


def test_the_better_draft_wins() -> None:
    selector = Selector(Acceptance(), CurveCost(1, 1.3, 1.6, 1.9))
    poor, good = draft(1, 2, 3, prior=0.4), draft(4, 5, 6, proposer="other", prior=0.9)
    assert selector.choose([poor, good]).ids[0] == selector.choose([good, poor]).ids[0] == 4


def test_a_second_row_that_must_be_scored_takes_the_best_guess() -> None:
    selector = Selector(Acceptance(), SteepCost(), min_rows=2)
    poor, good = draft(1, 2, prior=0.02), draft(3, 4, proposer="other", prior=0.03)
    assert selector.choose([poor, good]).ids == (3,)


def test_what_is_learned_changes_the_choice() -> None:
    cost = CurveCost(1, 1.3, 1.6, 1.9)
    selector, offered = Selector(Acceptance(), cost), draft(1, 2, 3, prior=0.8)
    assert len(selector.choose([offered])) > 0
    for _ in range(30):
        selector.observe([offered], Verdict(offered, 0, 9), 0, 1.9)
    assert selector.choose([offered]) is EMPTY
    assert set(cost.observed) == {4}
    for _ in range(60):  # it comes back although nothing of it is scored
        selector.observe([offered], Verdict(EMPTY, 0, 1), 0, 1.0)
    assert len(selector.choose([offered])) > 0
