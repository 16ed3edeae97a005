"""Suffix matching against a plain search, its evidence, and what a request leaves behind: nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.core.draft import EMPTY
from velospec.proposers.suffix import DEPTH, SuffixProposer


def brute_force(ids: list[int]) -> int | None:
    """The position behind the last earlier occurrence of the longest suffix of at most DEPTH ids."""
    for length in range(min(DEPTH, len(ids) - 1), 0, -1):
        suffix = ids[-length:]
        for end in range(len(ids) - 1, length - 1, -1):
            if ids[end - length : end] == suffix:
                return end
    return None


@settings(max_examples=300, deadline=None)
@given(prompt=st.lists(st.integers(0, 3), max_size=40), output=st.lists(st.integers(0, 3), max_size=40))
def test_finds_the_last_occurrence_of_the_longest_match(prompt: list[int], output: list[int]) -> None:
    proposer = SuffixProposer()
    proposer.begin(prompt)
    for token in output:
        proposer.extend([token])
    ids = prompt + output
    position = brute_force(ids)
    draft = proposer.propose(5)
    if position is None:
        assert draft is EMPTY
        return
    endless = list(ids)
    while len(endless) < position + 5:
        endless.append(endless[len(endless) - (len(ids) - position)])
    assert list(draft.ids) == endless[position : position + 5]


@settings(max_examples=300, deadline=None)
@given(requests=st.lists(st.lists(st.integers(0, 2), max_size=30), min_size=2, max_size=4), data=st.data())
def test_a_request_leaves_no_trace_in_the_next(requests: list[list[int]], data: st.DataObject) -> None:
    used = SuffixProposer()
    for ids in requests:
        keep = data.draw(st.integers(0, len(used._ids)))
        prompt = used._ids[:keep] + ids
        used.begin(prompt)
        fresh = SuffixProposer()
        fresh.begin(prompt)
        assert vars(used) == vars(fresh)
        used.extend(ids)


def evidence(ids: list[int]) -> tuple[int, int]:
    """Bucket of the match length and agreement."""
    proposer = SuffixProposer()
    proposer.begin(ids)
    return divmod(proposer.propose(1).evidence, 3)


def test_evidence_grows_with_the_match_beyond_the_index() -> None:
    once = [[*range(100, 100 + length), 1, *range(100, 100 + length)] for length in (1, 2, 4, 8, 12, 20, 40)]
    assert [evidence(ids) for ids in once] == [(0, 0), (1, 0), (3, 0), (5, 0), (6, 0), (7, 0), (8, 0)]


def test_evidence_tells_whether_earlier_matches_agree() -> None:
    assert evidence([7, 1, 7]) == (0, 0)
    assert evidence([7, 1, 8, 7, 1, 9, 7]) == (0, 1)
    assert evidence([7, 1, 8, 7, 2, 9, 7]) == (0, 2)


def test_the_prior_follows_the_evidence() -> None:
    proposer = SuffixProposer()
    proposer.begin([7, 1, 8, 7, 2, 9, 7])
    unlike = proposer.propose(1).prior
    proposer.begin([7, 1, 8, 7, 1, 9, 7])
    alike = proposer.propose(1).prior
    assert unlike < alike < 1


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
