"""Greedy verification: agreement, ties, banned ids, NaN, constraints, margins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from velospec.constraints.base import Ids
from velospec.core.draft import EMPTY, Draft
from velospec.core.errors import BackendError
from velospec.verify.greedy import GreedyVerifier

NAN = float("nan")
INF = float("inf")


class Only:
    """Allows the given ids in every row."""

    def __init__(self, *ids: int) -> None:
        self.ids = np.array(ids, dtype=np.int32)
        self.asked: list[tuple[int, ...]] = []

    slow_masks = False

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        allowed = self.allowed(ahead)
        return allowed is None or token in allowed

    def allowed(self, ahead: Sequence[int]) -> Ids | None:
        self.asked.append(tuple(ahead))
        return self.ids

    def ends(self, ahead: Sequence[int]) -> bool:  # noqa: ARG002  (a protocol)
        return False

    def trim(self, ids: Sequence[int]) -> int:
        return len(ids)

    def advance(self, ids: Sequence[int]) -> None:  # noqa: ARG002  (a protocol)
        raise AssertionError("the verifier moves no constraint")


def rows(*values: Sequence[float]) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def peak(token: int, size: int = 6) -> list[float]:
    return [1.0 if index == token else 0.0 for index in range(size)]


@pytest.mark.parametrize(
    ("proposed", "accepted", "bonus"),
    [((), 0, 3), ((3,), 1, 1), ((3, 1), 2, 4), ((2,), 0, 3), ((3, 2), 1, 1), ((2, 1), 0, 3)],
)
def test_accepts_up_to_the_first_disagreement(proposed: tuple[int, ...], accepted: int, bonus: int) -> None:
    verdict = GreedyVerifier().decide(rows(peak(3), peak(1), peak(4)), Draft(proposed, "test"))
    assert (verdict.accepted, verdict.bonus) == (accepted, bonus)
    assert verdict.ids == (*proposed[:accepted], bonus)
    assert verdict.rejected == (accepted < len(proposed))


def test_lowest_id_on_ties() -> None:
    assert GreedyVerifier().decide(rows([0, 2, 1, 2, 2]), EMPTY).bonus == 1
    assert GreedyVerifier({1}).decide(rows([0, 2, 1, 2, 2]), EMPTY).bonus == 3
    assert GreedyVerifier().decide(rows([0, 2, 1, 2, 2]), EMPTY, Only(2, 3, 4)).bonus == 3


def test_banned_ids_are_never_chosen() -> None:
    verifier = GreedyVerifier({0, 5})
    assert verifier.decide(rows([9, 1, 2, 3, 4, 8]), EMPTY).bonus == 4
    assert verifier.decide(rows([9, 1, 2, 3, 4, 8]), EMPTY, Only(0, 1, 5)).bonus == 1
    verdict = verifier.decide(rows(peak(5)), Draft((), "test"))
    assert verdict.bonus == 1  # all others equal: the lowest that is not banned


def test_nan_never_wins() -> None:
    assert GreedyVerifier().decide(rows([NAN, 1, NAN, 2]), EMPTY).bonus == 3
    assert GreedyVerifier().decide(rows([NAN, -INF, -5, NAN]), EMPTY).bonus == 2
    assert GreedyVerifier().decide(rows([NAN, 1, 3, 2]), EMPTY, Only(0, 1)).bonus == 1


@pytest.mark.parametrize("row", [[NAN, NAN, NAN], [-INF, -INF, NAN], [5, -INF, NAN]])
def test_no_usable_logit_is_an_error(row: list[float]) -> None:
    with pytest.raises(BackendError):
        GreedyVerifier({0}).decide(rows(row), EMPTY)


def test_nothing_allowed_is_an_error() -> None:
    with pytest.raises(BackendError):
        GreedyVerifier({1}).decide(rows([1, 2, 3]), EMPTY, Only(1))


def test_constraint_is_asked_row_by_row_with_what_is_ahead() -> None:
    only = Only(1, 2, 3)
    GreedyVerifier().decide(rows(peak(1), peak(2), peak(0)), Draft((1, 2), "test"), only)
    assert list(dict.fromkeys(only.asked)) == [(), (1,), (1, 2)]


def test_logits_are_left_as_they_are() -> None:
    logits = rows([9, 1, NAN, 3])
    before = logits.copy()
    GreedyVerifier({0}).decide(logits, EMPTY, Only(0, 1, 2))
    np.testing.assert_array_equal(logits, before)


@pytest.mark.parametrize(
    ("row", "margin"),
    [
        ([1, 5, 3.5, 2], 1.5),
        ([1, 4, 4, 2], 0.0),
        ([9, 1, 4, 2], 2.0),  # id 0 is banned
        ([1, 5, -INF, NAN], INF),
        ([8, 5, 3, 7], 2.0),
        ([1, NAN, 3.5, 2.25], 1.25),
    ],
)
def test_the_margin_is_the_lead_over_the_next_that_could_be_chosen(row: list[float], margin: float) -> None:
    assert GreedyVerifier({0}).decide(rows(row), EMPTY).margins == (margin,)


def test_every_decided_id_has_a_margin() -> None:
    logits = rows([0, 3, 1, 2], [5, 0, 1, 4], [0, 7, 1, 2])
    assert GreedyVerifier().decide(logits, Draft((1, 0), "test")).margins == (1, 1, 5)
    assert GreedyVerifier().decide(logits, Draft((1, 2), "test")).margins == (1, 1)
    assert GreedyVerifier().decide(logits, Draft((0, 2), "test")).margins == (1,)
    assert GreedyVerifier().decide(logits, EMPTY, Only(0, 3)).margins == (2,)
    assert GreedyVerifier().decide(logits, EMPTY, Only(2)).margins == (INF,)


def test_random_rows_agree_with_a_plain_search() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        row = generator.integers(0, 4, 12).astype(np.float32)
        row[generator.random(12) < 0.2] = NAN
        banned = {int(i) for i in generator.integers(0, 12, 3)}
        allowed = sorted({int(i) for i in generator.integers(0, 12, 8)})
        usable = [i for i in allowed if i not in banned and not np.isnan(row[i])]
        if usable:
            ranked = sorted(usable, key=lambda i: (-row[i], i))
            verdict = GreedyVerifier(banned).decide(row[None], EMPTY, Only(*allowed))
            margin = row[ranked[0]] - row[ranked[1]] if len(ranked) > 1 else INF
            assert (verdict.bonus, verdict.margins) == (ranked[0], (margin,))
