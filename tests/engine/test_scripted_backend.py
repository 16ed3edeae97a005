"""The tests' backend must itself refuse what a real backend would."""

from __future__ import annotations

import numpy as np
import pytest

from velospec.backends.scripted import Call, ScriptedBackend, ScriptedVocabulary, hash_rule, script_rule
from velospec.core.errors import BackendError, ContextError

VOCABULARY = ScriptedVocabulary([b"def", b"de"])


def make(**options: int) -> ScriptedBackend:
    return ScriptedBackend(hash_rule(VOCABULARY, seed=1, order=2), VOCABULARY, **options)


def test_logits_depend_on_the_ids_before_and_not_on_the_batch() -> None:
    whole, single = make(), make()
    whole.prefill(0, [1, 2], 0)
    rows = whole.decode(0, [3, 4, 5], 2).copy()
    for index, token in enumerate([1, 2, 3, 4, 5]):
        logits = single.decode(1, [token], index)
        if index >= 2:
            np.testing.assert_array_equal(logits[0], rows[index - 2])


@pytest.mark.parametrize(
    ("ids", "position"), [([1], 1), ([], 0), ([VOCABULARY.size], 0), ([-1], 0), (list(range(17)), 0)]
)
def test_irregular_calls_are_refused(ids: list[int], position: int) -> None:
    backend = make()
    with pytest.raises(BackendError):
        backend.decode(0, ids, position)
    assert backend.kv == [[], []]
    assert backend.calls == []


def test_truncate_tells_what_is_left() -> None:
    backend = make()
    backend.prefill(0, [1, 2, 3], 0)
    assert backend.truncate(0, 1) == 1
    assert backend.truncate(0, 2) == 1
    assert backend.kv[0] == [1]
    with pytest.raises(BackendError):
        backend.truncate(0, -1)


def test_context_is_bounded() -> None:
    backend = make(context=4)
    backend.prefill(0, [1, 2, 3], 0)
    with pytest.raises(ContextError):
        backend.decode(0, [4, 5], 3)


def test_calls_are_recorded() -> None:
    backend = make()
    backend.prefill(1, [1, 2], 0)
    backend.decode(1, [3], 2)
    backend.truncate(1, 2)
    assert backend.calls == [
        Call("prefill", 1, 0, (1, 2)),
        Call("decode", 1, 2, (3,)),
        Call("truncate", 1, 2),
    ]
    assert backend.prefilled == 2


def test_vocabulary_takes_the_longest_word() -> None:
    assert VOCABULARY.encode("defdeé<end>") == [256, 257, 0xC3, 0xA9, *b"<end>"]
    assert VOCABULARY.encode("a<end>", special=True) == [97, VOCABULARY.end]
    ids = VOCABULARY.encode("défi\ndef")
    assert b"".join(map(VOCABULARY.piece, ids)).decode() == "défi\ndef"


def test_script_is_followed_and_ended() -> None:
    backend = ScriptedBackend(script_rule(VOCABULARY, [5, 6], after=1), VOCABULARY)
    chosen = [int(row.argmax()) for row in backend.decode(0, [1, 5, 6, VOCABULARY.end], 0)]
    assert chosen == [5, 6, VOCABULARY.end, VOCABULARY.end]
