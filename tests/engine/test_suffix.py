"""Suffix matching: its drafts and evidence for the request's own text and for a corpus, kept apart."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.control.acceptance import Acceptance
from velospec.core.draft import EMPTY
from velospec.learning.workspace.chains import ChainIndex
from velospec.proposers.suffix import AGREEMENTS, CorpusProposer, SuffixProposer


def evidence(ids: list[int]) -> tuple[int, int]:
    """Bucket of the match length and agreement."""
    proposer = SuffixProposer()
    proposer.begin(ids)
    return divmod(proposer.propose(1).evidence, AGREEMENTS)


def test_evidence_grows_with_the_match() -> None:
    lengths = (1, 2, 3, 4, 6, 9, 14, 24, 48, 300)
    once = [[*range(100, 100 + length), 1, *range(100, 100 + length)] for length in lengths]
    assert [evidence(ids) for ids in once] == [(bucket, 0) for bucket in (0, 1, 2, 3, 4, 5, 6, 7, 8, 8)]


def test_evidence_tells_whether_earlier_matches_agree() -> None:
    assert evidence([7, 1, 7]) == (0, 0)
    assert evidence([7, 1, 8, 7, 1, 9, 7]) == (0, 1)
    assert evidence([7, 1, 8, 7, 1, 9, 7, 2, 7]) == (0, 2)
    assert evidence([7, 1, 8, 7, 2, 9, 7]) == (0, 3)


def test_the_most_frequent_continuation_counts_and_of_equals_the_latest() -> None:
    proposer = SuffixProposer()
    proposer.begin([7, 1, 5, 7, 1, 6, 7, 2, 7])
    assert proposer.propose(2).ids == (1, 6)
    proposer.begin([7, 1, 5, 7, 2, 6, 7])
    assert proposer.propose(2).ids == (2, 6)


def test_the_prior_follows_the_evidence() -> None:
    proposer = SuffixProposer()
    proposer.begin([7, 1, 8, 7, 2, 9, 7])
    unlike = proposer.propose(1).prior
    proposer.begin([7, 1, 8, 7, 1, 9, 7])
    alike = proposer.propose(1).prior
    assert unlike < alike < 1


@settings(max_examples=200, deadline=None)
@given(requests=st.lists(st.lists(st.integers(0, 2), max_size=30), min_size=2, max_size=4), data=st.data())
def test_a_request_leaves_no_trace_in_the_next(requests: list[list[int]], data: st.DataObject) -> None:
    used = SuffixProposer()
    prompt: list[int] = []
    for ids in requests:
        prompt = prompt[: data.draw(st.integers(0, len(prompt)))] + ids
        used.begin(prompt)
        fresh = SuffixProposer()
        fresh.begin(prompt)
        assert used.propose(8) == fresh.propose(8)
        used.extend(ids)
        prompt = prompt + ids


def test_goes_round_where_the_text_is_periodic() -> None:
    proposer = SuffixProposer()
    proposer.begin([1, 2, 3, 1, 2, 3])
    assert proposer.propose(8).ids == (1, 2, 3, 1, 2, 3, 1, 2)


def test_respects_the_limit_and_forgets_the_request_before() -> None:
    proposer = SuffixProposer()
    proposer.begin([5, 6, 5])
    assert proposer.propose(1).ids == (6,)
    assert proposer.propose(0) is EMPTY
    proposer.begin([8, 5])
    assert proposer.propose(4) is EMPTY


def test_nothing_to_go_by() -> None:
    proposer = SuffixProposer()
    proposer.begin([])
    assert proposer.propose(4) is EMPTY
    proposer.extend([1])
    assert proposer.propose(4) is EMPTY


def test_the_corpus_drafts_what_the_request_never_saw() -> None:
    proposer = CorpusProposer(ChainIndex.of([[1, 2, 3, 4, 5, 6]]))
    proposer.begin([9, 9, 2])
    assert proposer.propose(8).ids == (3, 4, 5, 6)
    proposer.extend([3])
    assert proposer.propose(2).ids == (4, 5)
    proposer.extend([9])
    assert proposer.propose(2) is EMPTY


def test_a_corpus_can_be_exchanged_and_taken_away() -> None:
    proposer = CorpusProposer()
    proposer.begin([1])
    assert proposer.propose(4) is EMPTY
    proposer.use(ChainIndex.of([[1, 2]]))
    assert proposer.propose(4).ids == (2,)
    proposer.use(ChainIndex.of([[1, 3]]))
    assert proposer.propose(4).ids == (3,)
    proposer.use(None)
    assert proposer.propose(4) is EMPTY


def test_acceptance_of_the_two_sources_is_counted_apart() -> None:
    own, corpus = SuffixProposer(), CorpusProposer(ChainIndex.of([[1, 2, 3]]))
    own.begin([1, 2, 3, 1])
    corpus.begin([8, 1])
    acceptance = Acceptance()
    mine, others = own.propose(1), corpus.propose(1)
    assert mine.ids == others.ids == (2,)
    before = acceptance.chances(mine)[0]
    for _ in range(20):
        acceptance.observe(others, (7,))
    assert acceptance.chances(mine)[0] == before
    assert acceptance.chances(others)[0] < 0.1
