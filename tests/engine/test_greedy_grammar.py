"""Greedy choices under a grammar: those of a mask, though mostly made without one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from velospec.constraints.base import Ids
from velospec.core.draft import EMPTY, Draft
from velospec.verify.candidates import Candidates
from velospec.verify.greedy import GreedyVerifier

SIZE = 1000
BANNED = (3, 500)


class Listed:
    """Allows certain ids in every row, and counts what it is asked."""

    def __init__(self, ids: Sequence[int], *, slow_masks: bool = False) -> None:
        self.ids = np.array(sorted(ids), dtype=np.int32)
        self.slow_masks = slow_masks
        self.masks = 0
        self.questions = 0

    def allows(self, ahead: Sequence[int], token: int) -> bool:  # noqa: ARG002  (a protocol)
        self.questions += 1
        return token in self.ids

    def allowed(self, ahead: Sequence[int]) -> Ids:  # noqa: ARG002  (a protocol)
        self.masks += 1
        return self.ids

    def ends(self, ahead: Sequence[int]) -> bool:  # noqa: ARG002  (a protocol)
        return False

    def trim(self, ids: Sequence[int]) -> int:
        return len(ids)

    def advance(self, ids: Sequence[int]) -> None:  # noqa: ARG002  (a protocol)
        raise AssertionError("the verifier moves no constraint")


def masked_choice(row: np.ndarray, ids: Ids) -> int:
    candidates = Candidates.of(row, ids, np.array(BANNED))
    return candidates.id_at(candidates.best()[0])


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.2, 0.9])
def test_the_choice_is_that_of_the_mask(share: float, slow: bool) -> None:
    generator = np.random.default_rng(int(share * 1000) + slow)
    verifier = GreedyVerifier(BANNED, {4})
    for _ in range(60):
        row = generator.integers(-20, 20, SIZE).astype(np.float32)  # many ties
        row[generator.integers(0, SIZE, 5)] = np.nan
        row[generator.integers(0, SIZE, 5)] = -np.inf
        ids = sorted({7, *generator.choice(SIZE, int(share * SIZE), replace=False).tolist()} - set(BANNED))
        row[7] = -19
        listed = Listed(ids, slow_masks=slow)
        verdict = verifier.decide(row[None], EMPTY, listed)
        assert verdict.bonus == masked_choice(row, listed.ids)


def test_no_mask_is_made_where_the_likeliest_id_is_allowed() -> None:
    rows = np.zeros((3, SIZE), dtype=np.float32)
    rows[[0, 1, 2], [9, 8, 7]] = 5
    listed = Listed([7, 8, 9])
    verdict = GreedyVerifier().decide(rows, Draft((9, 8), "test"), listed)
    assert verdict.ids == (9, 8, 7)
    assert (listed.masks, listed.questions) == (0, 3)


def test_slow_masks_are_avoided_by_asking_for_the_likeliest_in_turn() -> None:
    row = -np.arange(SIZE, dtype=np.float32)
    listed = Listed([200, 300], slow_masks=True)
    assert GreedyVerifier(BANNED).decide(row[None], EMPTY, listed).bonus == 200
    assert listed.masks == 0


def test_a_slow_mask_is_made_where_asking_leads_nowhere() -> None:
    row = -np.arange(SIZE, dtype=np.float32)
    listed = Listed([900], slow_masks=True)
    assert GreedyVerifier().decide(row[None], EMPTY, listed).bonus == 900
    assert listed.masks == 1


class Part(Listed):
    """Allows an end where the model itself would end, though no end token otherwise."""

    def ends(self, ahead: Sequence[int]) -> bool:  # noqa: ARG002  (a protocol)
        return True


@pytest.mark.parametrize("slow_masks", [False, True])
def test_a_part_ends_where_the_model_by_itself_would_and_nowhere_else(slow_masks: bool) -> None:
    verifier = GreedyVerifier(end_ids=[7])
    constraint = Part([1, 2], slow_masks=slow_masks)
    row = np.zeros(SIZE, dtype=np.float32)
    row[[1, 7, 9]] = 1, 2, 3  # kept from 9, the model would rather end than go on with 1
    assert verifier.decide(row[None], EMPTY, constraint).ids == (1,)
    row[9] = 0
    assert verifier.decide(row[None], EMPTY, constraint).ids == (7,)
    assert verifier.decide(row[None], EMPTY, Listed([1, 2], slow_masks=slow_masks)).ids == (1,)
