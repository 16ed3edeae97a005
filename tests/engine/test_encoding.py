"""Texts put together of known words have the ids that the tokenizer gives them, and need no tokenizer."""

from __future__ import annotations

import pytest

from tests.support.repository import ROOT, shipped_modules
from tests.support.vocabularies import vocabulary
from velospec.backends.scripted import ScriptedVocabulary
from velospec.proposers.structure.encoding import Encoder, encode_behind

NAMES = ["starcoder", "qwen2", "llama-bpe", "deepseek-coder", "gpt-2", "refact", "llama-spm"]
BY_WORDS = set(NAMES) - {"deepseek-coder"}  # which puts a space before a sign apart from it
CODE = shipped_modules()[20].read_text("utf-8")
SNIPPETS = [
    file.read_text("utf-8")[:4000] for file in sorted((ROOT / "tests/support/snippets").glob("*.txt"))
]


@pytest.mark.parametrize("name", NAMES)
def test_words_are_used_where_texts_fall_into_them(name: str) -> None:
    known = vocabulary(name)
    encoder = Encoder(known)
    assert encoder._by_words == (name in BY_WORDS)
    if encoder._by_words:
        for text in (CODE, *SNIPPETS):
            assert encoder._join(text) == known.encode(text)


@pytest.mark.parametrize("name", NAMES)
def test_words_read_from_ids_are_those_that_the_tokenizer_writes(name: str) -> None:
    known = vocabulary(name)
    encoder = Encoder(known)
    for text in (CODE, *SNIPPETS):
        encoder.read(known.encode(text))
    assert (len(encoder._words) > 500) == (name in BY_WORDS)
    for word, ids in encoder._words.items():
        assert list(ids) == known.encode(word)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_has_the_ids_it_has_where_it_stands(name: str) -> None:
    known = vocabulary(name)
    encoder = Encoder(known)
    ids = known.encode(CODE)[:600]
    encoder.read(ids)
    agreed = 0
    for place in range(10, 590, 7):
        text = b"".join(map(known.piece, ids[place : place + 9]))
        found = encoder.after(ids[:place], 0, text, len(text))
        before = b"".join(map(known.piece, ids[place - 1 : place]))
        assert found == encode_behind(known, before, text, len(text))
        agreed += found[:8] == tuple(ids[place : place + 8])
    assert agreed > 70  # of 83; elsewhere a token reaches over the end


class CountingVocabulary(ScriptedVocabulary):
    """Counts how often it is asked for the ids of a text."""

    asked = 0

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        self.asked += 1
        return super().encode(text, special=special)


def test_what_was_read_needs_no_tokenizer() -> None:
    known = CountingVocabulary([b" name", b" other"])
    encoder = Encoder(known)
    encoder.read(known.encode("a name = other.name + other\n"))
    expected = tuple(known.encode(" other = name"))
    before = known.asked
    assert encoder.after([ord("7")], 0, b" other = name + other", 13) == expected
    assert known.asked == before + 1  # for the 7, which was not read
    assert encoder.after([ord("7")], 0, b" name = other + other", 5) == expected[-1:]
    assert known.asked == before + 1


def test_texts_that_begin_inside_a_character_stand_alone() -> None:
    known = ScriptedVocabulary()
    assert Encoder(known).after([0xC3], 0, b"a", 1) == (ord("a"),)
    assert Encoder(known).after([ord("a")], 0, b"\xc3", 1) == ()


@pytest.mark.parametrize("name", NAMES)
def test_text_cut_within_a_character_is_spelled_all_the_same(name: str) -> None:
    known = vocabulary(name)
    encoder = Encoder(known)
    data = 'a "größe" 👩‍👩‍👧 é漢'.encode()
    for start in range(len(data)):
        before = known.encode(data[:start].decode(errors="ignore"))[-1:]
        for end in range(start + 1, min(start + 9, len(data)) + 1):
            ids = encoder.behind(before, data[start:end])
            spelled = b"".join(map(known.piece, ids))
            assert spelled.lstrip(b" ") in {data[start:end].lstrip(b" "), b""}
            assert ids or name == "llama-spm" or data[start:end].isspace()
