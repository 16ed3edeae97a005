"""Helpers for the tests of the syntax rules: a vocabulary of letters, and a proposer after a text."""

from __future__ import annotations

from collections.abc import Sequence

from velospec.backends.scripted import ScriptedVocabulary
from velospec.proposers.syntax_fsm import SyntaxFsm


def proposer(language: str, text: str, words: Sequence[bytes] = ()) -> SyntaxFsm:
    """A proposer that was given `text`, in a vocabulary of single bytes and `words`."""
    vocabulary = ScriptedVocabulary(words)
    fsm = SyntaxFsm(vocabulary, language=language)
    fsm.begin(vocabulary.encode(text))
    return fsm


def written(fsm: SyntaxFsm, limit: int = 200) -> str:
    """The text of the proposer's draft."""
    vocabulary = fsm._vocabulary
    return b"".join(map(vocabulary.piece, fsm.propose(limit).ids)).decode()


def continuation(language: str, text: str, words: Sequence[bytes] = ()) -> str:
    """What is drafted after `text`, empty for nothing."""
    return written(proposer(language, text, words))
