"""What grammar-guided drafting reads: places in JSON, what a request mentions, what followed where."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support.grammar_vocabulary import GrammarVocabulary
from velospec.proposers.structure.cuts import Cuts
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.json_place import LONGEST, Mode, Place
from velospec.proposers.structure.mentions import Mentions
from velospec.proposers.structure.states import MOST_STATES, Memory

VOCABULARY = GrammarVocabulary()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def mentions(text: str) -> Mentions:
    return Mentions(VOCABULARY, VOCABULARY.encode(text, special=True))


@given(
    value=st.dictionaries(st.text(max_size=5), values, max_size=3),
    cut=st.integers(0, 400),
    spaced=st.booleans(),
)
def test_a_place_does_not_depend_on_the_pieces_and_a_whole_text_ends_outside(
    value: object, cut: int, spaced: bool
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2 if spaced else None).encode()
    whole, ends = Place().follow(text)
    first, early = Place().follow(text[:cut])
    second, late = first.follow(text[cut:])
    assert (second, early + late) == (whole, ends)
    assert whole == Place()


def test_a_place_has_the_keys_around_and_what_was_written() -> None:
    text = b'call: {"name": "f", "arguments": {"sizes": [1, 25], "to": "a \\"b'
    place, ends = Place().follow(text)
    assert place == Place((b"arguments", b"to"), Mode.STRING, b'a \\"b')
    assert ends == (
        ((b"name",), True),
        ((b"arguments", b"sizes", None), True),
        ((b"arguments", b"sizes", None), False),
        ((b"arguments", b"sizes"), True),
    )
    before_array = text[: text.index(b"[")]
    assert Place().follow(before_array)[0] == Place((b"arguments", b"sizes"), Mode.VALUE, b" ")
    assert len(Place().follow(b'["' + b"x" * 100)[0].written) == LONGEST


def test_a_request_is_the_last_longer_text_and_mentions_numbers_and_names() -> None:
    request = 'Weather in New York, NY for 3 days from the "old port" at 1,250.5 m'
    found = mentions(f'{{"city": 1, "days": 9}}<|tool|>{request}<|tool|>me:')
    assert found.request.startswith(b"Weather in")
    assert found.names == [b"New York, NY", b"old port"]
    assert [number for _, number in found.numbers] == [b"3", b"1250.5"]
    assert found.keys == [b"city", b"days"]
    assert found.number_near(b"height_m", ()) == b"3"
    assert found.number_near(b"days", ()) == b"1250.5"
    assert found.rest(b"old") == b" port"
    assert found.rest(b"orec") is None
    assert found.mentioned(b'"ports"') == 1
    assert found.mentioned(b'"harbour"') == 0


def test_the_latest_counts_for_most_and_a_conflict_lowers_the_share() -> None:
    states = Memory().of("g")
    state = states.at(Place((b"k",), Mode.VALUE))
    for token, piece in ((1, b"1"), (1, b"1"), (2, b"2")):
        state.learn(token, piece)
    once = state.followers[0].best()
    assert once is not None
    assert once.token == 1
    assert 0.5 < once.share < 0.7
    state.learn(2, b"2")
    again = state.followers[0].best()
    assert again is not None
    assert again.token == 2


def test_memory_is_bounded_and_kept_by_grammar() -> None:
    memory = Memory(most=2)
    first = memory.of("a")
    for number in range(3 * MOST_STATES):
        first.at(Place((b"%d" % number,), Mode.VALUE))
    assert len(first._states) <= MOST_STATES
    assert memory.of("a") is first
    memory.of("b"), memory.of("c")
    assert memory.of("a") is not first


def test_tokens_that_the_model_cuts_are_cut_until_it_writes_them_whole() -> None:
    cuts = Cuts(Encoder(VOCABULARY))
    whole, brace, quote, name = (VOCABULARY.encode(text)[0] for text in ('{"', "{", '"', "name"))
    cuts.learn(name, brace)  # another text, not another cut
    assert cuts.apply([whole, name]) == (whole, name)
    cuts.learn(whole, brace)
    assert cuts.apply([whole, name]) == (brace, quote, name)
    cuts.learn(brace, whole)
    cuts.learn(brace, whole)
    assert cuts.apply([whole, name]) == (whole, name)
