"""Drafts the text that the grammar forces, in the tokens that the model would write it with.

Forced text is not forced tokens: the masks allow every way to cut it, and the model decides which. So the
text is encoded as a whole and verified like any draft. Its last id is less sure than the others: a longer
token may take it together with what follows. Knows no language and no schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.base import GrammarView
from velospec.proposers.structure.encoding import Encoder


class Part(IntEnum):
    """Where in the forced text an id lies: the evidence of the draft's ids."""

    INSIDE = 0
    EDGE = 1  # its end, which may go on


PRIORS = {Part.INSIDE: 0.995, Part.EDGE: 0.7}


class Forced:
    """The proposer `forced`."""

    name = "forced"

    def __init__(self, vocabulary: Vocabulary, encoder: Encoder | None = None) -> None:
        self._encoder = encoder or Encoder(vocabulary)
        self._grammar: GrammarView | None = None
        self._tail: Sequence[int] = ()

    def use_grammar(self, grammar: GrammarView | None) -> None:
        self._grammar = grammar

    def begin(self, ids: Sequence[int]) -> None:
        self._tail = ids[-1:]

    def extend(self, ids: Sequence[int]) -> None:
        self._tail = ids[-1:] or self._tail

    def propose(self, limit: int) -> Draft:
        text = self._grammar.forced() if self._grammar is not None and limit > 0 else b""
        if not text:
            return EMPTY
        ids = self._encoder.behind(self._tail, text)
        if not ids:
            return EMPTY
        parts = [Part.INSIDE] * (len(ids) - 1) + [Part.EDGE]
        guesses = tuple((int(part), PRIORS[part]) for part in parts[:limit])
        return Draft(ids[:limit], self.name, *guesses[0], guesses)

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""
