"""The policies that stand beside the selector for comparison, by their published numbers."""

from __future__ import annotations

import pytest

from tests.support.proposers import FlatCost
from velospec.control.acceptance import Acceptance
from velospec.control.adaptive_k import AdaptiveK, DensityK, FixedK
from velospec.control.selector import Selector
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.drafting import Control, Drafting, policy_of

LONG = Draft(tuple(range(16)), "suffix")


def rounds(policy: AdaptiveK, count: int, accepted: float, draft: Draft = LONG) -> list[int]:
    """Lengths chosen in `count` rounds of which each accepts that share of its ids."""
    lengths = []
    for _ in range(count):
        chosen = policy.choose([draft])
        lengths.append(len(chosen))
        policy.observe([draft], Verdict(chosen, round(accepted * len(chosen)), 99), 0, 1.0)
    return lengths


def test_a_fixed_length_is_of_the_first_draft_on_offer() -> None:
    policy = FixedK(FlatCost(), 3)
    assert policy.choose([LONG, Draft((7,), "b")]).ids == (0, 1, 2)
    assert policy.choose([Draft((7,), "b"), LONG]).ids == (7,)
    assert policy.choose([]) is EMPTY


@pytest.mark.parametrize(
    ("density", "length"), [(0.0, 8), (0.004, 8), (0.005, 4), (0.019, 4), (0.02, 1), (1.0, 1)]
)
def test_the_density_rule_is_the_published_table(density: float, length: int) -> None:
    policy = DensityK(FlatCost())
    policy.look(density)
    assert len(policy.choose([LONG])) == length


def test_the_window_lengthens_by_one_up_to_twelve() -> None:
    assert rounds(AdaptiveK(FlatCost()), 12, 1.0) == [4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 12, 12]


def test_the_window_shortens_by_one_down_to_one() -> None:
    assert rounds(AdaptiveK(FlatCost()), 5, 0.5) == [4, 3, 2, 1, 1][:5]


def test_it_stays_between_the_bounds() -> None:
    policy = AdaptiveK(FlatCost())
    rounds(policy, 4, 1.0)
    draft = Draft(tuple(range(10)), "suffix")
    policy.observe([draft], Verdict(draft, 7, 99), 0, 1.0)  # 29 of 32 so far: 0.91
    assert len(policy.choose([LONG])) == 8


def test_only_the_last_ten_rounds_count() -> None:
    policy = AdaptiveK(FlatCost())
    rounds(policy, 2, 0.5)
    # 3 of 7 at first; it goes on down until what is accepted outweighs them, and up when they are forgotten.
    assert rounds(policy, 20, 1.0)[-3:] == [9, 10, 11]


def test_a_full_reject_takes_two() -> None:
    assert rounds(AdaptiveK(FlatCost()), 3, 0.0) == [4, 2, 1]


def test_five_rejects_in_a_row_rest_a_proposer_and_it_comes_back() -> None:
    policy, other = AdaptiveK(FlatCost()), Draft((1, 2), "other")
    assert rounds(policy, 24, 0.0)[4:] == [1, *[0] * 16, 1, 1, 1]
    policy = AdaptiveK(FlatCost())
    rounds(policy, 5, 0.0)
    assert policy.choose([LONG, other]).proposer == "other"


def test_costs_are_observed_by_the_rows_that_were_scored() -> None:
    cost = FlatCost()
    FixedK(cost, 2, min_rows=2).observe([LONG], Verdict(EMPTY, 0, 1), 0, 1.0)
    FixedK(cost, 2).observe([LONG], Verdict(LONG.cut(2), 1, 1), 0, 1.0)
    assert cost.observed == [2, 3]


@pytest.mark.parametrize(
    ("control", "kind"),
    [
        (Control.SELECTOR, Selector),
        (Control.ADAPTIVE_K, AdaptiveK),
        (Control.DENSITY, DensityK),
        (Control.FIXED, FixedK),
    ],
)
def test_each_control_has_its_policy(control: Control, kind: type) -> None:
    policy = policy_of(Drafting(control=control, length=5), Acceptance(), FlatCost(), 1)
    assert type(policy) is kind
    policy.begin()
    assert len(policy.choose([LONG])) == {FixedK: 5, AdaptiveK: 4, DensityK: 1, Selector: 16}[kind]
