"""Drafts by the state of the grammar: keys, punctuation, members of enumerations, and values of the request.

A draft goes on through forced text as far as something is known of what the model chooses where the grammar
leaves it a choice: what it chose there before (`structure.states`), what the request mentions
(`structure.mentions`), or that there are few alternatives. No part is added that the grammar does not allow.
Counts are kept for later requests of the same grammar, in memory, apart for each workspace.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.base import GrammarView
from velospec.proposers.structure.basis import PRIORS, Basis
from velospec.proposers.structure.chain import Chain
from velospec.proposers.structure.cuts import Cuts
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.json_place import LONGEST, Mode, Place
from velospec.proposers.structure.mentions import Mentions
from velospec.proposers.structure.states import Memory
from velospec.proposers.structure.walk import Walk

MOST_WORKSPACES = 4
_ENOUGH = 6  # ids left of a draft that has been right so far, for it to be offered again as it is
_ANSWER = 2000  # bytes at the end of the answer in which values count as used


class GrammarState:
    """The proposer `grammar_state`. The evidence of its ids is a `Basis`, or what was counted."""

    name = "grammar_state"

    def __init__(self, vocabulary: Vocabulary, encoder: Encoder | None = None) -> None:
        self._vocabulary = vocabulary
        self._encoder = encoder or Encoder(vocabulary)
        self._cuts = Cuts(self._encoder)
        self._before = (b"", Place())  # a text that stood before an answer, and where it ends
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._grammar: GrammarView | None = None
        # What is left of the last draft, as far as it was right.
        self._rest: tuple[int, ...] = ()
        self._guesses: tuple[tuple[int, float], ...] = ()
        self.use_workspace("")

    def use_workspace(self, workspace: str) -> None:
        """Count for that workspace from the next request on."""
        self._memory = self._memories.setdefault(workspace, Memory())
        self._memories.move_to_end(workspace)
        if len(self._memories) > MOST_WORKSPACES:
            self._memories.popitem(last=False)

    def use_grammar(self, grammar: GrammarView | None) -> None:
        self._grammar = grammar

    def begin(self, ids: Sequence[int]) -> None:
        if self._grammar is None:
            return
        self._encoder.read(ids)
        self._tail: Sequence[int] = ids[-1:]
        self._mentions = Mentions(self._vocabulary, ids)
        self._states = self._memory.of(self._grammar.key)
        self._state = self._states.at(self._place_behind(self._grammar.before))
        self._answer = b""
        self._rest, self._guesses = (), ()

    def _place_behind(self, text: bytes) -> Place:
        """Where `text` ends; what it begins with in common with the last one, typed on, is not read again."""
        known, place = self._before
        if not text.startswith(known):
            known, place = b"", Place()
        self._before = text, place.follow(text[len(known) :])[0]
        return self._before[1]

    def extend(self, ids: Sequence[int]) -> None:
        if self._grammar is None:
            return
        self._note_cuts(ids)
        right = self._rest[: len(ids)] == tuple(ids)
        self._rest = self._rest[len(ids) :] if right else ()
        self._guesses = self._guesses[len(ids) :]
        for token in ids:
            piece = self._vocabulary.piece(token)
            if piece:  # no control token
                self._state = self._state.learn(token, piece)
                self._answer += piece
        self._answer = self._answer[-_ANSWER:]
        self._tail = ids[-1:] or self._tail

    def propose(self, limit: int) -> Draft:
        if self._grammar is None or limit < 1:
            return EMPTY
        place = self._state.place
        if place.mode is Mode.STRING and len(place.written) >= LONGEST:
            return EMPTY  # prose, of which others may know something
        if len(self._rest) < _ENOUGH:
            self._walk(self._grammar, limit)
        if not self._rest:
            return EMPTY
        ids, guesses = self._rest[:limit], self._guesses[:limit]
        return Draft(ids, self.name, *guesses[0], guesses)

    def _note_cuts(self, ids: Sequence[int]) -> None:
        """Learn from the draft on offer how the model cuts text, up to where it went another way."""
        for drafted, (evidence, _), chosen in zip(self._rest, self._guesses, ids, strict=False):
            if evidence in (Basis.FORCED, Basis.EDGE):
                self._cuts.learn(drafted, chosen)
            if drafted != chosen:
                break

    def _walk(self, grammar: GrammarView, limit: int) -> None:
        """Draft anew from where the text stands."""
        chain = Chain(grammar, self._encoder, self._cuts, self._tail, limit)
        walk = Walk(chain, self._state, self._states, self._mentions, self._vocabulary)
        walk.go(self._answer)
        self._guesses = chain.guesses(None if walk.complete else (int(Basis.EDGE), PRIORS[Basis.EDGE]))
        self._rest = chain.ids

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""


def basis_name(evidence: int) -> str:
    """What an evidence of this proposer stands for, for traces."""
    return Basis(min(evidence, Basis.COUNTED)).name.lower()
