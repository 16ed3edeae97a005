"""Healing against a plain search over the vocabulary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.backends.scripted import ScriptedVocabulary
from velospec.constraints.healing import ByteTable, Healing

WORDS = [
    b"a",
    b"ab",
    b"abc",
    b"abd",
    b"b",
    b"\xff\xff",
    b"\xff\xffa",
    b"\xf0\x9f\x98\x80",
    b"\xf0\x9f",
    b"a\x00",
]
VOCABULARY = ScriptedVocabulary(WORDS)
TABLE = ByteTable(VOCABULARY)

heals = st.lists(
    st.sampled_from([b"a", b"b", b"c", b"d", b"\xff", b"\x00", b"\xf0", b"\x9f"]), min_size=1
).map(b"".join)


def fits(token: int, left: bytes) -> bool:
    piece = VOCABULARY.piece(token)
    return bool(piece) and (piece.startswith(left) or left.startswith(piece))


@settings(max_examples=300, deadline=None)
@given(heal=heals)
def test_allowed_ids_are_those_that_spell_out_the_bytes(heal: bytes) -> None:
    allowed = Healing(TABLE, heal).allowed(())
    assert allowed is not None
    assert allowed.tolist() == [token for token in range(VOCABULARY.size) if fits(token, heal)]


@settings(max_examples=300, deadline=None)
@given(heal=heals, ids=st.lists(st.integers(0, VOCABULARY.size - 1), max_size=6))
def test_trim_allowed_and_advance_agree(heal: bytes, ids: list[int]) -> None:
    healing = Healing(TABLE, heal)
    count = healing.trim(ids)
    for ahead in range(count):
        allowed = healing.allowed(ids[:ahead])
        assert allowed is None or ids[ahead] in allowed
    if count < len(ids):
        allowed = healing.allowed(ids[:count])
        assert allowed is not None
        assert ids[count] not in allowed
    moved = Healing(TABLE, heal)
    moved.advance(ids[:count])
    after, expected = moved.allowed(()), healing.allowed(ids[:count])
    assert (after is None) == (expected is None)
    if after is not None and expected is not None:
        assert after.tolist() == expected.tolist()


def test_once_spelled_out_everything_is_allowed() -> None:
    healing = Healing(TABLE, b"ab")
    abc = 256 + WORDS.index(b"abc")
    assert healing.allowed((abc,)) is None
    healing.advance([ord("a")])
    assert healing.allowed(()) is not None
    healing.advance([ord("b")])
    assert healing.allowed(()) is None
    assert healing.trim([VOCABULARY.end, 1, 2]) == 3


def test_control_tokens_cannot_heal() -> None:
    healing = Healing(TABLE, b"a")
    assert healing.trim([VOCABULARY.end]) == 0
    allowed = healing.allowed(())
    assert allowed is not None
    assert not {VOCABULARY.end, VOCABULARY.control} & set(allowed.tolist())
