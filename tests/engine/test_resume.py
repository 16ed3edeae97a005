"""Rests of rejected drafts, taken up behind the id that was wrong."""

from __future__ import annotations

import pytest

from velospec.core.draft import EMPTY, Draft
from velospec.proposers.resume import ResumeProposer

OFFERED = Draft((1, 2, 3, 4, 5, 6, 7, 8), "suffix")


def after(*steps: tuple[list[Draft], list[int]]) -> ResumeProposer:
    proposer = ResumeProposer()
    proposer.begin([1, 2])
    for offered, decided in steps:
        proposer.extend(decided)
        proposer.watch(offered, decided)
    return proposer


def test_nothing_is_offered_before_a_draft_was_wrong() -> None:
    assert after().propose(9) is EMPTY
    assert after(([OFFERED], [1, 2, 3])).propose(9) is EMPTY


@pytest.mark.parametrize(
    ("decided", "rest"), [([9], (2, 3, 4)), ([1, 2, 9], (4, 5, 6)), ([9, 2, 3], (4, 5, 6))]
)
def test_the_rest_follows_the_id_that_was_wrong(decided: list[int], rest: tuple[int, ...]) -> None:
    assert after(([OFFERED], decided)).propose(3).ids == rest


def test_a_rest_that_what_followed_speaks_against_is_none() -> None:
    assert after(([OFFERED], [9, 9])).propose(3) is EMPTY
    assert after(([Draft((1, 2), "suffix")], [1, 9])).propose(3) is EMPTY


def test_it_goes_on_along_the_text_and_over_more_slips() -> None:
    proposer = after(([OFFERED], [9]), ([], [2, 3]))
    assert proposer.propose(2).ids == (4, 5)
    assert proposer.propose(2).evidence == 2
    proposer.extend([99])
    assert (proposer.propose(2).ids, proposer.propose(2).evidence) == ((5, 6), 4)
    proposer.extend([99, 99])
    assert proposer.propose(2) is EMPTY


def test_it_ends_with_the_draft_and_with_the_request() -> None:
    assert after(([OFFERED], [9]), ([], [2, 3, 4, 5, 6, 7, 8])).propose(3) is EMPTY
    proposer = after(([OFFERED], [9]))
    proposer.begin([1])
    assert proposer.propose(3) is EMPTY


def test_the_draft_that_was_right_the_longest_is_taken_up() -> None:
    other = Draft((1, 7, 7, 7, 7, 7, 7, 7), "corpus")
    assert after(([other, OFFERED], [1, 2, 9])).propose(1).ids == (4,)


def test_a_rest_that_does_well_is_kept() -> None:
    proposer = after(([OFFERED], [9]), ([], [2, 3]), ([Draft((7, 7, 7, 7), "corpus")], [4]))
    assert proposer.propose(1).ids == (5,)


def test_its_own_drafts_are_not_taken_up() -> None:
    proposer = ResumeProposer()
    proposer.watch([Draft((1, 2, 3), "resume")], [9])
    assert proposer.propose(1) is EMPTY
