"""Motifs: names replayed that were never seen in that shape, at token level, bounded, leaving no trace."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.following import draft_after, right, spell
from tests.support.vocabularies import vocabulary
from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY
from velospec.proposers.motif import MotifProposer
from velospec.proposers.motif_memory import FRESH, LONGEST, WINDOWS, Element, Follower, MotifMemory, Tail
from velospec.proposers.structure.layout import Layout, absolute, relative
from velospec.proposers.structure.lexing import Kind
from velospec.proposers.suffix import SuffixProposer

NAMES = ["starcoder", "qwen2", "llama-bpe", "deepseek-coder", "gpt-2", "llama-spm"]
WALK = """
def length(current):
    count = 0
    while current is not None:
        count += 1
        current = current.next
    return count


def total(unseen_walker):
    result_sum = 0
    while unseen_walker is not None:
        result_sum += 1
        unseen_walker ="""


@pytest.fixture(params=NAMES)
def known(request: pytest.FixtureRequest) -> Vocabulary:
    return vocabulary(request.param)


def motif(known: Vocabulary, language: str = "python") -> MotifProposer:
    return MotifProposer(known, language=language)


def test_predicts_names_that_it_never_saw_in_that_shape(known: Vocabulary) -> None:
    drafted = draft_after(motif(known), known, WALK)
    assert "unseen_walker = unseen_walker" not in WALK
    assert drafted.startswith(" unseen_walker.next\n    return result_sum"[: len(drafted)])
    assert len(drafted) > len(" unseen_walker.next")


def test_exact_repetition_has_nothing_to_say_there(known: Vocabulary) -> None:
    assert not draft_after(SuffixProposer(), known, WALK).startswith(" unseen_walker.")


def test_goes_on_in_the_midst_of_a_name_of_several_tokens(known: Vocabulary) -> None:
    answer = " unseen_walker.next\n    return result_sum"
    ids = known.encode(WALK + answer)
    start = len(known.encode(WALK))
    proposer = motif(known)
    proposer.begin(ids[:start])
    places = 0
    for place in range(start, len(known.encode(WALK + " unseen_walker"))):
        draft = proposer.propose(15)
        assert right(draft, ids, place) >= min(len(ids) - place, 5), spell(known, ids[:place])[-20:]
        proposer.extend([ids[place]])
        places += 1
    assert places > 1


def test_members_are_those_seen_after_the_name_at_hand(known: Vocabulary) -> None:
    text = """
def first(item):
    while item:
        item = item.next
    return item


def second(branch):
    show(branch.left)
    while branch:
        branch ="""
    assert draft_after(motif(known), known, text).startswith(" branch.left\n    return branch")


def test_the_layout_is_that_of_the_place(known: Vocabulary) -> None:
    text = "if a:\n\tfirst = a.b\n\tx += first\n\tif c:\n\t\tsecond = c.b\n\t\tx +="
    assert draft_after(motif(known), known, text).startswith(" second\n\t\tif")


def test_leaves_to_repetition_what_repeats(known: Vocabulary) -> None:
    text = "first = one.two(three)\nfirst = one.two(three)\nfirst = one."
    assert not draft_after(motif(known), known, text)


def test_learns_beyond_the_request_and_forgets(known: Vocabulary) -> None:
    proposer = motif(known)
    question = "\ndef f(walker):\n    while walker:\n        walker ="
    assert not draft_after(proposer, known, question)
    learned = "\ndef g(item):\n    while item:\n        item = item.parent\n    return item\n"
    proposer.learn([(learned, "python")])
    assert draft_after(proposer, known, question).startswith(" walker.parent\n    return walker")
    proposer.begin(known.encode(question))
    assert proposer.propose(9).evidence % 2 == 1
    proposer.forget()
    assert not draft_after(proposer, known, question)


def test_learning_stops_where_the_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("velospec.proposers.motif._LEARNED", 400)
    monkeypatch.setattr("velospec.proposers.motif._ROOM", 300)
    proposer = motif(vocabulary("starcoder"))
    read = []

    def texts() -> Iterator[tuple[str, str]]:
        for number in range(9):
            read.append(number)
            yield f"value{number} = other({number}, 'a') + more[{number}]\n", "python"

    proposer.learn(texts())
    assert read == [0, 1, 2]
    assert 100 < len(proposer._learned) <= 400


def test_evidence_grows_with_the_window_and_with_agreement(known: Vocabulary) -> None:
    def evidence(text: str) -> int:
        proposer = motif(known)
        proposer.begin(known.encode(text))
        return proposer.propose(9).evidence

    once = "aa = aa.left\nbb ="
    twice = "aa = aa.left\ncc = cc.left\nbb ="
    assert evidence(once) < evidence(twice)
    assert evidence(WALK) > evidence(twice)


def test_a_draft_is_no_longer_than_the_limit(known: Vocabulary) -> None:
    proposer = motif(known)
    proposer.begin(known.encode(WALK))
    whole = proposer.propose(15).ids
    assert [proposer.propose(limit).ids for limit in (1, 2, 3)] == [whole[:1], whole[:2], whole[:3]]
    assert proposer.propose(0) is EMPTY


CODE = st.lists(
    st.sampled_from(
        ["x", "foo_bar", " = ", ".", "(", ")", "\n", "\n    ", "node", "next", "'", "# ", "é", "1"]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=100, deadline=None)
@given(first=CODE, second=CODE, cut=st.integers(0, 60))
def test_a_request_leaves_no_trace_in_the_next(first: str, second: str, cut: int) -> None:
    known = vocabulary("starcoder")
    used, fresh = motif(known), motif(known)
    one, two = known.encode(first), known.encode(second)
    used.begin(one)
    used.extend(two[:7])
    used.propose(5)
    prompt = [*one[:cut], *two]
    used.begin(prompt)
    fresh.begin(prompt)
    mine, theirs = vars(used._text), vars(fresh._text)
    assert mine.pop("memory")._counts == theirs.pop("memory")._counts
    assert mine.pop("tail").keys == theirs.pop("tail").keys
    assert mine == theirs


@settings(max_examples=100, deadline=None)
@given(text=CODE, pieces=st.integers(1, 5))
def test_what_is_told_id_by_id_is_the_same_as_at_once(text: str, pieces: int) -> None:
    known = vocabulary("starcoder")
    ids = known.encode(text)
    step, whole = motif(known), motif(known)
    step.begin(ids[:pieces])
    for token in ids[pieces:]:
        step.extend([token])
    whole.begin(ids)
    assert step.propose(15) == whole.propose(15)


def infill(known: Vocabulary, prefix: str, suffix: str, *, suffix_first: bool) -> Sequence[int]:
    one, two, three = sorted(known.control_ids)[:3]
    if suffix_first:
        return [two, *known.encode(suffix), three, one, *known.encode(prefix)]
    return [one, *known.encode(prefix), two, *known.encode(suffix), three]


@pytest.mark.parametrize("suffix_first", [True, False])
def test_reads_the_text_after_the_cursor_too_but_goes_on_at_the_cursor(suffix_first: bool) -> None:
    known = vocabulary("starcoder")
    prefix = "def a(item):\n    while item:\n        item ="
    suffix = "\n\n\ndef b(node):\n    while node:\n        node = node.child\n    return node\n"
    proposer = motif(known)
    proposer.begin(infill(known, prefix, suffix, suffix_first=suffix_first))
    drafted = spell(known, proposer.propose(15).ids)
    assert drafted.startswith(" item.child\n    return item")


def test_typing_on_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    known = vocabulary("starcoder")
    proposer = motif(known)
    ids = infill(known, WALK, "\nprint(1)\n", suffix_first=True)
    proposer.begin(ids)
    noted = 0
    note = MotifMemory.note

    def count(self: MotifMemory, *rest: object) -> None:
        nonlocal noted
        noted += 1
        note(self, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(MotifMemory, "note", count)
    proposer.begin([*ids, *known.encode(" unseen_walker.next")])
    assert noted <= 3


def test_the_memory_is_bounded_and_small() -> None:
    elements = [Element(b" ", b"x%d" % number, named=False) for number in range(6000)]
    seen = [Tail(elements[max(0, end - LONGEST) : end]) for end in range(len(elements))]
    tracemalloc.start()
    memory = MotifMemory(40_000)
    for before, element in zip(seen, elements, strict=True):
        memory.note(before, element)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 30_000 - len(WINDOWS) <= len(memory) <= 40_000
    assert size / len(memory) < 160
    assert memory.find(seen[-1]) is not None
    assert memory.find(seen[20]) is None


def test_names_are_told_by_where_they_stand_and_those_that_do_not_are_fresh() -> None:
    memory = MotifMemory(100)
    sign = Element(b" ", b"=", named=False)
    a, b, c = (Element(b" ", name, named=True) for name in (b"a", b"b", b"c"))
    memory.note(Tail([a, sign, b]), a)
    memory.note(Tail([a, sign, b]), c)
    memory.note(Tail([b, sign, c]), b)
    found = memory.find(Tail([c, sign, a]))
    assert found is not None
    assert found.follower == Follower(b" ", 3, b"")
    assert (found.times, found.total) == (2, 3)
    only = MotifMemory(100)
    only.note(Tail([a, sign, b]), c)
    found = only.find(Tail([c, sign, a]))
    assert found is not None
    assert found.follower == Follower(b" ", FRESH, b"c")
    only.take_back(Tail([a, sign, b]), c)
    assert len(only) == 0
    assert memory.find(Tail([c, sign, c])) is None


@given(
    lines=st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=12),
    unit=st.sampled_from([b"    ", b"  ", b"\t"]),
)
def test_layout_comes_back_as_it_was(lines: list[int], unit: bytes) -> None:
    here = there = Layout()
    for level in lines:
        lead = b"\n" + unit * level
        code, here = relative(lead, here)
        again, there = absolute(code, there) if here.unit == there.unit else (lead, here)
        assert again == lead


def test_odd_indentation_stands_for_itself() -> None:
    layout = Layout(b"    ", b"    ")
    assert relative(b"\n              ", layout) == (b"\n|              ", Layout(b"              ", b"    "))
    assert absolute(b"\n|              ", layout)[0] == b"\n              "
    assert relative(b"\n\n        ", layout)[0] == b"\n\n>"
    assert relative(b"  ", layout) == (b"  ", layout)
    assert relative(b"\n\t", Layout(b"", b"    ")) == (b"\n>", Layout(b"\t", b"\t"))
    assert Kind.NAME < Kind.KEYWORD
