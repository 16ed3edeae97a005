"""Rules of a workspace: what documents agree on, lowered by what contradicts, resting where they fail."""

from __future__ import annotations

from velospec.core.draft import EMPTY
from velospec.drafting import rule_name
from velospec.learning.rules import Tier
from velospec.learning.token_rules import TokenRule, TokenRules
from velospec.learning.workspace.chains import ChainIndex
from velospec.learning.workspace.online_rules import LEAST_SUPPORT, MOST_IDS, OnlineRules
from velospec.proposers.ngram_rules import NgramRules

CONTEXT = [1, 2, 3, 4]


def rule(*followers: tuple[int, int]) -> TokenRule | None:
    """The rule after CONTEXT where it was followed so: by an id, in a document."""
    index = ChainIndex()
    for follower, document in followers:
        index.add([*CONTEXT, follower, 9, 9], document)
    found = OnlineRules(index).find([7, *CONTEXT])
    return found[1] if found is not None else None


def test_a_rule_needs_several_places_in_several_documents() -> None:
    assert rule((5, 1), (5, 2)) is None
    assert rule(*[(5, 1)] * 9) is None
    found = rule((5, 1), (5, 2), (5, 3))
    assert LEAST_SUPPORT == 3
    assert found is not None
    assert (found.tier, found.ids) == (Tier.DETERMINISTIC, (5, 9, 9))


def test_conflicting_evidence_lowers_chance_and_tier() -> None:
    tiers, chances = [], []
    for conflicts in (0, 1, 3, 8):
        found = rule(*[(6, 3)] * conflicts, *[(5, number) for number in range(1, 9)])
        assert found is not None
        tiers.append(found.tier)
        chances.append(found.chance)
    assert tiers == [Tier.DETERMINISTIC, Tier.STRONG, Tier.FREQUENT, Tier.FREQUENT]
    assert chances == sorted(chances, reverse=True)
    mixed = rule((5, 1), (6, 2), (7, 3))
    assert mixed is not None
    assert (mixed.tier, mixed.ids) == (Tier.NONE, ())


def test_what_was_written_last_counts_for_more() -> None:
    for first, last in ((5, 6), (6, 5)):
        found = rule(*[(first, number) for number in range(6)], *[(last, number) for number in range(6)])
        assert found is not None
        assert (found.ids[0], found.tier) == (last, Tier.FREQUENT)


def test_a_rule_goes_with_the_documents_that_it_came_from() -> None:
    index = ChainIndex()
    spans = [index.add([*CONTEXT, 5, 9], document) for document in range(4)]
    rules = OnlineRules(index)
    for span in spans[:2]:
        assert rules.find(CONTEXT) is not None
        index.remove(span)
    assert rules.find(CONTEXT) is None


def test_the_document_at_hand_is_no_evidence() -> None:
    index = ChainIndex()
    for document in (1, 1, 1, 2):
        index.add([*CONTEXT, 5, 9], document)
    assert OnlineRules(index).find(CONTEXT) is not None
    assert OnlineRules(index, leave=1).find(CONTEXT) is None


def test_a_longer_context_decides_also_where_nothing_is_reliable() -> None:
    index = ChainIndex()
    for document in range(9):
        for _ in range(5):
            index.add([8, 3, 4, 5, 9], document)
        index.add([*CONTEXT, 50 + document, 9], document)
    found = OnlineRules(index).find(CONTEXT)
    assert found is not None
    assert (found[0], found[1].ids) == (tuple(CONTEXT), ())
    found = OnlineRules(index).find(CONTEXT[2:])
    assert found is not None
    assert (found[0], found[1].ids) == (tuple(CONTEXT[2:]), (5, 9))


def proposer(index: ChainIndex, shipped: TokenRules | None = None) -> NgramRules:
    found = NgramRules(lambda _language: shipped)
    found.use_language("python")
    found.use_workspace(OnlineRules(index))
    found.begin(CONTEXT)
    return found


def test_the_workspace_drafts_where_it_knows_better_than_what_is_shipped() -> None:
    index = ChainIndex()
    for document in range(4):
        index.add([*CONTEXT, 5, *range(10, 30)], document)
    shipped = TokenRules({(3, 4): TokenRule((77, 78), Tier.FREQUENT, 0.6)})
    draft = proposer(index, shipped).propose(16)
    assert draft.ids == (5, *range(10, 17))
    assert len(draft.ids) == MOST_IDS
    assert rule_name(draft) == "deterministic of the workspace"
    sure = TokenRules({(3, 4): TokenRule((77, 78), Tier.DETERMINISTIC, 0.9999)})
    draft = proposer(index, sure).propose(16)
    assert (draft.ids, rule_name(draft)) == ((77, 78), "deterministic")


def test_a_rule_that_fails_rests_and_comes_back() -> None:
    index = ChainIndex()
    for document in range(4):
        index.add([*CONTEXT, 5, 9], document)
    ngram = proposer(index)
    for _ in range(4):
        assert ngram.propose(4).ids[:1] == (5,)
        ngram.extend([6, *CONTEXT])
    assert ngram.propose(4) is EMPTY
    ngram.extend([6] * 64 + CONTEXT)
    assert ngram.propose(4).ids[:1] == (5,)


def test_a_rule_writes_what_all_places_agree_on_and_is_silent_where_many_do_not() -> None:
    index = ChainIndex()
    for document, tail in enumerate(([5, 6, 7, 8], [5, 6, 7, 9], [5, 6, 7, 10])):
        index.add([*CONTEXT, *tail], document)
    assert proposer(index).propose(16).ids == (5, 6, 7)
    for document in (7, 8):
        index.add([*CONTEXT, 50, 51], document)
    assert proposer(index).propose(16) is EMPTY
