"""Acceptance estimates, and the choice of draft and length by expected tokens per second."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path

import pytest

from tests.support.proposers import FlatCost, SteepCost
from velospec.backends.scripted import ScriptedVocabulary
from velospec.control.acceptance import MOST_IDS, Acceptance, scale_odds
from velospec.control.entropy_gate import EntropyGate
from velospec.control.guard import Guard
from velospec.control.priors import shipped
from velospec.control.selector import CAUTION, Selector
from velospec.control.token_class import token_classes
from velospec.control.weights import Weights, chance_of, logit_of
from velospec.control.workspaces import MOST_WORKSPACES, Acceptances
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.drafting import PROPOSERS


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
    chances = acceptance.chances(draft(*range(30), prior=0.3))
    assert chances[0] == pytest.approx(0.3)
    assert all(a <= b < 1 for a, b in itertools.pairwise(chances))


@pytest.mark.parametrize("truth", [0.1, 0.5, 0.9])
def test_estimates_approach_the_true_rate(truth: float) -> None:
    acceptance, generator = Acceptance(), random.Random(3)  # noqa: S311  (test data)
    offered = draft(1, 2, 3)
    estimates = []
    for _ in range(2000):
        wrong = next((i for i in range(3) if generator.random() >= truth), 3)
        acceptance.observe(offered, [*offered.ids[:wrong], 99])
        estimates.append(acceptance.chances(offered))
    for position in range(2):
        mean = sum(row[position] for row in estimates[500:]) / 1500
        assert mean == pytest.approx(truth, abs=0.05)


def test_estimates_follow_a_change() -> None:
    acceptance, offered = Acceptance(), draft(1)
    for _ in range(200):
        acceptance.observe(offered, [1])
    assert acceptance.chances(offered)[0] > 0.9
    for _ in range(60):
        acceptance.observe(offered, [2])
    assert acceptance.chances(offered)[0] < 0.3


def test_what_follows_a_wrong_id_tells_nothing() -> None:
    offered = draft(1, 2, 3)
    after_wrong, cut_short = Acceptance(), Acceptance()
    after_wrong.observe(offered, [7, 2, 3])
    cut_short.observe(offered, [7])
    assert after_wrong.chances(offered) == cut_short.chances(offered)
    assert after_wrong.to_dict() == cut_short.to_dict()


def test_proposers_and_evidence_are_kept_apart() -> None:
    acceptance = Acceptance()
    for _ in range(50):
        acceptance.observe(draft(1), [1])
    assert acceptance.chances(draft(2))[0] > 0.7
    assert 0.6 < acceptance.chances(draft(2, evidence=1))[0] < acceptance.chances(draft(2))[0]
    assert acceptance.chances(draft(2, proposer="other")) == pytest.approx([0.5])


def test_an_id_that_tends_to_be_right_or_wrong_is_known_for_its_proposer() -> None:
    acceptance = Acceptance()
    for _ in range(40):
        acceptance.observe(draft(1), [1])
        acceptance.observe(draft(2), [9])
    right, unknown, wrong = (acceptance.chances(draft(token, evidence=1))[0] for token in (1, 3, 2))
    assert right > 0.75 > unknown > 0.25 > wrong
    assert acceptance.chances(draft(1, proposer="other")) == pytest.approx([0.5])
    for _ in range(60):
        acceptance.observe(draft(2), [2])
    assert acceptance.chances(draft(2, evidence=1))[0] > 0.7


def test_one_outcome_moves_each_weight_by_its_own_newton_step() -> None:
    acceptance = Acceptance()
    acceptance.observe(draft(1), [1])
    shared = 0.5 / (0.25 + 10)  # half an acceptance more than promised, over the variance and the firmness
    own = 0.5 / (0.25 + 3)
    assert acceptance.chances(draft(1)) == pytest.approx([chance_of(2 * shared + own)])
    assert acceptance.chances(draft(2, evidence=1)) == pytest.approx([chance_of(shared)])
    assert acceptance.to_dict() == {
        name: [pytest.approx(shared, abs=1e-4), 0.25] for name in ("evidence suffix 0", "place suffix 0")
    }


def test_agreement_of_other_drafts_counts_as_far_as_they_agree() -> None:
    first, same, other = draft(1, 2), draft(1, 9, proposer="same"), draft(7, proposer="other")
    acceptance = Acceptance({"told 0 1 1": 1.0, "told 1 0 1": -2.0})
    alone, among = acceptance.chances(first), acceptance.chances(first, [first, same, other])
    assert [logit_of(b) - logit_of(a) for a, b in zip(alone, among, strict=True)] == pytest.approx([1, -2])


def test_agreement_is_learned() -> None:
    acceptance = Acceptance()
    for step in range(60):
        agreeing = draft(2 * step), draft(2 * step, proposer="b")
        acceptance.learn(agreeing, Verdict(EMPTY, 0, 2 * step))
        acceptance.learn([draft(2 * step), draft(9999, proposer="b")], Verdict(EMPTY, 0, 2 * step + 1))
    new, second = draft(8888), draft(8888, proposer="b")
    agreed = acceptance.chances(new, [new, second])[0]
    alone = acceptance.chances(new, [new, draft(7777, proposer="b")])[0]
    assert agreed > 0.85
    assert alone < 0.6


def test_the_class_of_an_id_counts() -> None:
    acceptance = Acceptance({"class suffix 7": 2.0}, classes=[7, 1])
    assert acceptance.chances(draft(0)) == pytest.approx([chance_of(2.0)])
    assert acceptance.chances(draft(1)) == acceptance.chances(draft(5)) == pytest.approx([0.5])


def test_what_was_noted_of_one_request_is_not_held_against_the_next() -> None:
    acceptance = Acceptance({"foreseen 0 0": -3.0, "margin 0 0": -1.0})
    for step in range(9):
        acceptance.learn([draft(1)], Verdict(EMPTY, 0, 2 + step, (0.1,)))
    low = acceptance.chances(draft(1, proposer="new"))[0]
    acceptance.begin()
    assert low < 0.05
    assert acceptance.chances(draft(1, proposer="new")) == pytest.approx([0.5])


def test_the_gate_scales_by_the_last_margin_and_their_mean() -> None:
    weights = Weights({"margin 7 0": 1.0, "margins 1 0": 0.25, "margins 7 2": 3.0})
    gate = EntropyGate(weights)
    assert gate.weights(0) == []
    gate.note([8.0])
    assert [weight.value for weight in gate.weights(2)] == [0.0, 3.0]
    gate.begin()
    gate.note([0.1, 0.1, 0.1, 0.1, 8.0])  # a mean of 1.68
    assert [weight.value for weight in gate.weights(0)] == [1.0, 0.0]
    gate.begin()
    gate.note([0.2, 1.9])  # a mean of 0.54
    assert [weight.value for weight in gate.weights(0)] == [0.0, 0.25]


def test_a_gate_that_is_switched_off_scales_nothing() -> None:
    weights = {"margin 7 0": 1.0, "margins 7 0": 1.0}
    on, off = Acceptance(weights), Acceptance(weights, gate=False)
    for acceptance in (on, off):
        acceptance.learn([], Verdict(EMPTY, 0, 1, (9.0,)))
    assert on.chances(draft(1)) == pytest.approx([chance_of(2.0)])
    assert off.chances(draft(1)) == pytest.approx([0.5])


def test_what_was_learned_is_kept_without_ids() -> None:
    acceptance, restored = Acceptance(classes=[3] * 900), Acceptance(classes=[3] * 900)
    for _ in range(30):
        scored = draft(801, 802)
        acceptance.learn([scored, draft(801, proposer="b")], Verdict(scored, 1, 7, (2.0, 3.0)))
    kept = json.loads(json.dumps(acceptance.to_dict()))
    assert not any("801" in name or "802" in name for name in kept)
    restored.restore(kept)
    assert restored.to_dict() == kept
    acceptance.begin()
    assert restored.chances(draft(5, 6)) == pytest.approx(acceptance.chances(draft(5, 6)), abs=1e-3)


@pytest.mark.parametrize("pair", [[1.0], [math.nan, 1.0], [1.0, -1.0]])
def test_weights_that_are_no_weights_are_refused(pair: list[float]) -> None:
    with pytest.raises(ValueError, match=r"numbers|unpack"):
        Acceptance().restore({"place suffix 0": pair})


def test_ids_are_forgotten_once_there_are_too_many() -> None:
    acceptance = Acceptance()
    for token in range(10_000):
        acceptance.observe(draft(token), [token])
    assert len(acceptance._sources["suffix"]._ids) <= MOST_IDS


def test_workspaces_learn_apart_and_are_found_again(tmp_path: Path) -> None:
    spaces, offered = Acceptances(Acceptance), draft(1)
    assert spaces.of("a") is spaces.of("a")
    for _ in range(30):
        spaces.of("a").observe(offered, [1])
        spaces.of("b").observe(offered, [2])
    spaces.save(tmp_path)
    again = Acceptances(Acceptance)
    again.load(tmp_path)
    assert again.of("a").to_dict() == spaces.of("a").to_dict() != again.of("b").to_dict()
    assert "a" not in json.loads((tmp_path / "acceptance.json").read_text())["workspaces"]


def test_answers_under_a_grammar_are_learned_of_apart(tmp_path: Path) -> None:
    def make() -> Acceptances:
        return Acceptances(Acceptance, lambda: Acceptance({"place suffix 0": 2.0}))

    spaces, offered = make(), draft(1)
    spaces.enter("a", structured=True)
    assert next(spaces.walk(offered)) > next(spaces.of("a").walk(offered))
    spaces.learn([offered], Verdict(offered, 0, 2))
    assert spaces.of("a").to_dict() == {}
    learned = spaces.of("a", structured=True).to_dict()
    assert learned
    spaces.save(tmp_path)
    again = make()
    again.load(tmp_path)
    assert again.of("a", structured=True).to_dict() == learned
    assert again.of("a").to_dict() == {}


def test_the_least_recently_used_workspace_leaves() -> None:
    spaces = Acceptances(Acceptance)
    first, second = spaces.of("1"), spaces.of("2")
    for number in range(3, MOST_WORKSPACES + 1):
        spaces.of(f"{number}")
    assert spaces.of("1") is first
    spaces.of("one more")
    assert spaces.of("1") is first
    assert spaces.of("2") is not second


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 0}', '{"version": 1, "workspaces": {"x": {"y": 1}}}']
)
def test_a_damaged_record_of_acceptance_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "acceptance.json").write_text(text)
    spaces = Acceptances(Acceptance)
    spaces.load(tmp_path)
    assert spaces.of().to_dict() == {}


@pytest.mark.parametrize("structured", [False, True])
def test_the_shipped_weights_are_of_known_things(*, structured: bool) -> None:
    weights = shipped(structured=structured)
    kinds = {name.split()[0] for name in weights}
    known = {"evidence", "place", "class", "told", "foreseen", "margin", "margins"}
    assert kinds == (known | {"density"} if structured else known)
    proposers = {name.split()[1] for name in weights if name.split()[0] in {"evidence", "place", "class"}}
    assert proposers <= set(PROPOSERS)
    assert all(abs(value) <= 4 for value in weights.values())
    # The number of a syntax rule means another rule in the next build.
    assert not any(name.startswith("evidence syntax_fsm") for name in weights)


def test_token_classes_are_of_the_text() -> None:
    words = [b"\n\n", b"):\n", b"    ", b"42", b" name", b"name", b"([", b'""', b":=", b"=>", "ä".encode()]
    vocabulary = ScriptedVocabulary(words)
    found = token_classes(vocabulary)
    assert list(found[256 : 256 + len(words)]) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 6]
    assert found[vocabulary.end] == 0
    assert len(found) == vocabulary.size


def test_a_draft_is_cut_before_an_id_that_tends_to_be_wrong() -> None:
    acceptance = Acceptance()
    selector = Selector(acceptance, CurveCost(1, 1.3, 1.6, 1.9, 2.2))
    offered = draft(1, 2, 3, 4, prior=0.8)
    assert selector.choose([offered]) == offered
    for _ in range(40):
        acceptance.observe(draft(3, evidence=1), [9])
        acceptance.observe(draft(8, evidence=1), [8])
    assert selector.choose([draft(1, 2, 3, 4, prior=0.8)]).ids == (1, 2)


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
    # By the estimate 1.5 tokens in the time of 1.43; by odds of 0.7 only 1.412.
    offered = draft(1, prior=0.5)
    assert Selector(Acceptance(), CurveCost(1, 1.43)).choose([offered]) is EMPTY
    assert Selector(Acceptance(), CurveCost(1, 1.4)).choose([offered]) == offered


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


def test_the_guard_lets_time_be_lost_only_to_ever_surer_drafts() -> None:
    guard = Guard()
    guard.note(3, 1.5)
    assert guard.trust == 1.0
    guard.note(1, 4.5)  # 2 steps lost in all
    assert guard.trust == pytest.approx(math.exp(-1))
    guard.note(1, 30.0)
    assert guard.trust == 0.1
    guard.begin()
    assert guard.trust == 1.0


def test_drafts_that_are_always_wrong_lose_little_time() -> None:
    cost = CurveCost(1, 1.8, 2.2, 2.5)
    selector, spent = Selector(Acceptance(), cost), 0.0
    selector.begin()
    for step in range(100):
        offered = [draft(3 * step, 3 * step + 1, 3 * step + 2, proposer=f"new {step}", prior=0.8)]
        chosen = selector.choose(offered)
        selector.observe(offered, Verdict(chosen, 0, 9999), 0, 1.0)
        spent += cost.seconds(len(chosen) + 1)
    # Each comes from a proposer that nothing is known of: only the guard stands against them.
    assert 101 < spent < 107


def test_what_a_step_takes_besides_speaks_for_longer_drafts() -> None:
    """Two rows take as long as two single ones, but a step takes as long again, and one is less than two."""
    selector = Selector(Acceptance(), SteepCost())
    draft = Draft((1, 2), "a", prior=0.9)
    assert selector.choose([draft]) == EMPTY
    for _ in range(50):
        selector.spent(1.0)
    assert len(selector.choose([draft])) > 0


def test_a_stall_hardly_counts_as_what_steps_take() -> None:
    steady, stalled = (Selector(Acceptance(), SteepCost()) for _ in range(2))
    for selector in (steady, stalled):
        for _ in range(50):
            selector.spent(0.001)
    stalled.spent(1000.0)
    draft = Draft((1, 2), "a", prior=0.9)
    assert stalled.choose([draft]) == steady.choose([draft]) == EMPTY
