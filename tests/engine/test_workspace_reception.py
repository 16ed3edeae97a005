"""The user's judgement of completions: counted by workspace, and evidence of what drafts are worth."""

from __future__ import annotations

from velospec.control.acceptance import Acceptance
from velospec.control.workspaces import Acceptances
from velospec.core.draft import Draft
from velospec.core.learning import Feedback, Reception
from velospec.learning.workspace.documents import Workspace

DRAFT = Draft((1, 2, 3), "corpus", 4, 0.5)


def judged(*receptions: Reception) -> Workspace:
    workspace = Workspace("/w")
    kept = {Reception.ACCEPTED: 10, Reception.PARTLY: 4}
    for reception in receptions:
        workspace.judge(Feedback("/w", reception, 10, kept.get(reception, 0)))
    return workspace


def test_the_share_that_is_taken_is_known_after_some_judgements() -> None:
    assert judged(*[Reception.ACCEPTED] * 19).taken() is None
    assert judged(*[Reception.ACCEPTED] * 20).taken() == 1.0
    mixed = judged(*[Reception.ACCEPTED, Reception.PARTLY, Reception.REJECTED, Reception.DELETED] * 5)
    assert mixed.taken() == 0.35


def test_what_the_user_takes_moves_the_chances_where_it_tells_of_them() -> None:
    acceptance = Acceptance()
    for _ in range(200):
        for share, decided in ((0.9, (1, 2, 3)), (0.05, (9,))):
            acceptance.use_reception(share)
            acceptance.begin()
            acceptance.observe(DRAFT, decided)
    chances = {}
    for share in (0.95, None, 0.0):
        acceptance.use_reception(share)
        acceptance.begin()
        chances[share] = acceptance.chances(DRAFT)[0]
    assert chances[0.95] > 0.8
    assert chances[0.0] < 0.3
    assert chances[0.0] < (chances[None] or 0.0) < chances[0.95]


def test_a_workspace_whose_user_judged_nothing_is_as_before() -> None:
    plain, told = Acceptances(Acceptance), Acceptances(Acceptance)
    plain.enter("/w")
    told.enter("/w", taken=None)
    assert list(plain.walk(DRAFT)) == list(told.walk(DRAFT))
    told.enter("/w", taken=0.9)
    assert list(plain.walk(DRAFT)) == list(told.walk(DRAFT))  # a class of which nothing was learned
