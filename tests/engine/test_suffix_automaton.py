"""The suffix automaton against a plain search, and that taking back leaves no trace."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.learning.automaton import WALK, SuffixAutomaton

texts = st.integers(1, 5).flatmap(lambda most: st.lists(st.integers(0, most), max_size=WALK + 2))


def places(ids: list[int]) -> tuple[int, list[int]]:
    """Length of the longest end of `ids` that stood before, and where the ids behind it stand."""
    for length in range(len(ids) - 1, 0, -1):
        found = [end for end in range(length, len(ids)) if ids[end - length : end] == ids[-length:]]
        if found:
            return length, found
    return 0, []


@settings(max_examples=500, deadline=None)
@given(ids=texts)
def test_the_match_is_that_of_a_plain_search(ids: list[int]) -> None:
    automaton = SuffixAutomaton()
    automaton.extend(ids)
    length, found = places(ids)
    match = automaton.match()
    if not found:
        assert match is None
        return
    assert match is not None
    following = [ids[place] for place in found]
    assert (match.length, match.seen) == (length, len(found))
    token = ids[match.position]
    assert match.agreed == following.count(token) == max(map(following.count, following))
    assert match.position == max(place for place in found if ids[place] == token)
    assert match.latest == (token == following[-1])


@settings(max_examples=500, deadline=None)
@given(ids=texts, more=texts, cut=st.integers(0, 20))
def test_taking_back_leaves_no_trace(ids: list[int], more: list[int], cut: int) -> None:
    used, fresh = SuffixAutomaton(), SuffixAutomaton()
    used.extend(ids + more)
    used.truncate(cut)
    fresh.extend((ids + more)[:cut])
    assert vars(used) == vars(fresh)
    used.start_over(more)
    anew = SuffixAutomaton()
    anew.extend(more)
    assert vars(used) == vars(anew)


def test_size_and_work_stay_linear() -> None:
    for ids in ([1] * 2000, [1, 2] * 1000, list(range(2000)), [i * i % 7 for i in range(2000)]):
        automaton = SuffixAutomaton()
        automaton.extend(ids)
        assert len(automaton._link) <= 2 * len(ids)
        assert sum(len(following) for following in automaton._next) <= 3 * len(ids)
        changed = sum(len(changes) + len(settled) for changes, _, settled in automaton._undo)
        assert changed <= (WALK + 4) * len(ids)


def test_long_repetitions_are_matched_whole() -> None:
    automaton = SuffixAutomaton()
    automaton.extend([*range(500), 1000, *range(500)])
    match = automaton.match()
    assert match is not None
    assert (match.length, match.position, match.seen) == (500, 500, 1)
