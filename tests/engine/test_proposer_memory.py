"""What proposers keep is bounded: fed far more than the bound, they hold no more entries than it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.repository import shipped_modules
from tests.support.vocabularies import vocabulary
from velospec.proposers.ast_shadow import AstShadow
from velospec.proposers.base import Proposer
from velospec.proposers.motif import MotifProposer
from velospec.proposers.motif_memory import Element, MotifMemory, Tail
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.lexing import START, Lexer
from velospec.proposers.suffix import SuffixProposer
from velospec.proposers.syntax_rules import read
from velospec.proposers.syntax_rules.machine import Machine

TEXT = "".join(file.read_text("utf-8") for file in shipped_modules()[:12])
SIGN = Element(b" ", b"=", named=False)


def counted(memory: MotifMemory) -> int:
    return sum(len(found) if isinstance(found, dict) else 1 for found in memory._counts.values())


def test_motifs_count_followers_not_windows_alone() -> None:
    memory = MotifMemory(100)
    tail = Tail([SIGN, SIGN, SIGN])
    most = 0
    for number in range(1000):
        memory.note(tail, Element(b" ", b"name%d" % number, named=True))
        assert len(memory) == counted(memory) <= 100
        most = max(most, len(memory))
    assert most > 90
    assert len(memory._followers) <= 100


def test_motifs_forget_the_oldest_first() -> None:
    memory = MotifMemory(100)
    tails = [Tail([SIGN, SIGN, Element(b" ", b"%d" % number, named=False)]) for number in range(1000)]
    for tail in tails:
        memory.note(tail, SIGN)
    assert 70 < len(memory) == counted(memory) <= 100
    assert memory.find(tails[-70]) is not None
    assert memory.find(tails[-101]) is None


def test_taking_back_leaves_nothing() -> None:
    memory = MotifMemory(100)
    tail = Tail([SIGN, SIGN, SIGN])
    elements = [Element(b" ", b"name%d" % (number % 3), named=True) for number in range(9)]
    for element in elements:
        memory.note(tail, element)
    assert (len(memory), counted(memory)) == (3, 3)
    for element in reversed(elements):
        memory.take_back(tail, element)
    assert (len(memory), counted(memory)) == (0, 0)


def test_encoded_texts_and_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("velospec.proposers.structure.encoding._MOST_KEPT", 20)
    known = vocabulary("starcoder")
    encoder = Encoder(known)
    encoder.read(known.encode(TEXT))
    assert 0 < len(encoder._words) <= 20
    before = known.encode("x =")
    for number in range(100):
        text = f" name{number}.value"
        assert list(encoder.after(before, 0, text.encode(), len(text))) == known.encode(text)
        assert len(encoder._known) <= 20
        assert len(encoder._words) <= 20


def test_steps_of_a_lexer_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("velospec.proposers.structure.lexing._MOST_KEPT", 20)
    lexer = Lexer("python")
    state = START
    for word in TEXT.split(" ")[:1000]:
        state, _ = lexer.feed(state, b" " + word.encode())
        lexer.peek(state)
        assert 0 < len(lexer._known) <= 20
    kept = dict(lexer._known)
    lexer.feed(START, TEXT.encode())
    assert lexer._known == kept  # a text as a whole is not remembered


def test_states_of_a_language_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(machine: Machine) -> list[int]:
        state, states = machine.START, []
        for word in TEXT.split(" ")[:4000]:
            state = machine.walk(state, b" " + word.encode()).state
            states.append(state)
        return states

    most = max(follow(Machine(read("python"))))
    assert most > 50
    monkeypatch.setattr("velospec.proposers.syntax_rules.machine._MOST_STATES", 30)
    machine = Machine(read("python"))
    assert max(follow(machine)) < 30
    assert len(machine._states) == len(machine._numbers) == 30


def entries(proposer: object) -> int:
    """Entries of all lists and dictionaries that a proposer and the text that it follows are made of."""
    parts = [proposer, getattr(proposer, "_text", None)]
    values = [value for part in parts if part is not None for value in vars(part).values()]
    return sum(len(value) for value in values if isinstance(value, list | dict))


@pytest.mark.parametrize(
    ("make", "per_id"),
    [
        (SuffixProposer, 12),  # an id, a place, a way back, and two states of six lists
        (lambda: MotifProposer(vocabulary("starcoder"), language="python"), 10),
        (lambda: AstShadow(vocabulary("starcoder"), language="python"), 2),
    ],
)
def test_what_grows_with_the_text_goes_with_it(make: Callable[[], Proposer], per_id: int) -> None:
    ids = vocabulary("starcoder").encode(TEXT)[:4000]
    proposer = make()
    proposer.begin(ids)
    assert len(ids) <= entries(proposer) <= per_id * len(ids)
    proposer.begin(ids[:100])
    assert entries(proposer) <= per_id * 100
