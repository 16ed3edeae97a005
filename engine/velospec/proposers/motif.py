"""Drafts what followed the same shape of code under other names: `node = node.left` after `item = item.left`.

The text is read as lexemes. In each window of the last ones, names stand for nothing but where they occur
again, while literals, operators and the layout stay; what followed the longest window seen before is replayed
with the names that stand in these places now. A name that was not in the window is replayed as it was, or,
after the dot behind a name, as the member last seen after that name. The replayed text becomes ids as the
model would write them here, also in the middle of a lexeme. Knows the request's ids and what it was given to
learn; no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from velospec.backends.base import Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.proposers.base import GrammarView
from velospec.proposers.cursor import split_at_cursor
from velospec.proposers.motif_memory import FRESH, WINDOWS, Element, Found, MotifMemory, Tail
from velospec.proposers.motif_text import APART, BARRIER, MotifText, element_of, owner_of
from velospec.proposers.structure.encoding import Encoder
from velospec.proposers.structure.layout import Layout, absolute
from velospec.proposers.structure.lexing import START, lexer

_LEARNED = 250_000  # followers kept of what was learned, 8 a lexeme; about 36 MB
_ROOM = 10_000  # where fewer are left, no other text is begun
_BYTES_PER_ID = 6
_SURE = 2 / 3  # share of its window's followers that a lexeme needs to be replayed


class MotifProposer:
    """The proposer `motif`."""

    name = "motif"

    def __init__(self, vocabulary: Vocabulary, *, language: str = "") -> None:
        self._vocabulary = vocabulary
        self._encoder = Encoder(vocabulary)
        self._language = language
        self._own = self._learned = self.new_memory()
        self._text = MotifText(vocabulary, language)
        self._idle = False

    def use_grammar(self, grammar: GrammarView | None) -> None:
        """Text under a grammar is no program: those that know the grammar draft it."""
        self._idle = grammar is not None

    def use_language(self, name: str) -> None:
        """The language of the next request; an unknown one is read by what most have in common."""
        if name != self._language:
            self._language = name
            self._text = MotifText(self._vocabulary, name)

    def begin(self, ids: Sequence[int]) -> None:
        """Start a request; what `ids` have in common with the last one's text need not be read again."""
        if self._idle:
            return
        others, before = split_at_cursor(ids, self._vocabulary.control_ids)
        stream = [token for part in others for token in (*part, APART)]
        for part in (*others, before):
            self._encoder.read(part)
        self._text.become([*stream, *before])

    def extend(self, ids: Sequence[int]) -> None:
        for token in () if self._idle else ids:
            self._text.append(token)

    def propose(self, limit: int) -> Draft:
        text = self._text
        if limit < 1 or self._idle or not text.ids:
            return EMPTY
        pending = text.state.pending
        replay = self._replay(text.tail.copy(), text.layout, pending, limit, taken=False)
        if replay is None and pending.strip():
            tail, layout = text.closed()
            if tail.named and tail.text(1) not in text.names:
                return EMPTY  # a name under way
            replay = self._replay(tail, layout, b"", limit, taken=True)
        if replay is None:
            return EMPTY
        ids = self._encoder.after(text.ids, len(pending), replay.text, replay.sure)
        return Draft(ids[:limit], self.name, replay.evidence, replay.prior) if ids else EMPTY

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def learn(self, texts: Iterable[tuple[str, str]]) -> None:
        """Remember the motifs of texts, each with its language, beyond this request, as far as there is room.

        What comes first counts most: once the memory is full the rest is not read. Takes 4 us a byte.
        """
        for text, language in texts:
            if not self.learn_block(self._own, text, language):
                break

    def forget(self) -> None:
        """Forget all that `learn` was given."""
        self._own.clear()

    def new_memory(self) -> MotifMemory:
        """A memory of motifs, to be filled by `learn_block` and drafted from after `use`."""
        return MotifMemory(_LEARNED)

    def use(self, memory: MotifMemory | None) -> None:
        """Draft from `memory` too from now on; with None from what `learn` was given."""
        self._learned = self._own if memory is None else memory

    def learn_block(self, memory: MotifMemory, text: str, language: str) -> bool:
        """Add the motifs of `text` to `memory`; False, and nothing is added, where there is no room."""
        if len(memory) > _LEARNED - _ROOM:
            return False
        self._encoder.read(self._vocabulary.encode(text))
        for tail, element in _windows(text, language):
            memory.note(tail, element)
        return True

    def unlearn_block(self, memory: MotifMemory, text: str, language: str) -> None:
        """Take back what `learn_block` added."""
        for tail, element in _windows(text, language):
            memory.take_back(tail, element)

    def _replay(
        self, tail: Tail, layout: Layout, pending: bytes, limit: int, *, taken: bool
    ) -> _Replay | None:
        """What follows `tail`, less the `pending` bytes that stand already; None if nothing is sure.

        `tail` is moved on.
        """
        standing = _KNOWN_NAME if taken and tail.named else _NOVEL
        out = b""
        sure = 0
        first: tuple[Found, bool] | None = None
        while len(out) - len(pending) < limit * _BYTES_PER_ID:
            found, learned = self._find(tail)
            if found is None:
                break
            element = _resolve(found, tail, self._text.members)
            lead, layout = absolute(element.lead, layout)
            out += lead + element.text
            if not (out.startswith(pending) or pending.startswith(out)):
                return None
            if found.times < _SURE * found.total:
                break
            if first is None and len(out) > len(pending):
                if self._text.repeats(tail, element):
                    return None
                first = found, learned
            sure = len(out)
            tail.append(element)
        return None if first is None else _Replay(out[len(pending) :], sure - len(pending), *first, standing)

    def _find(self, tail: Tail) -> tuple[Found | None, bool]:
        """What the longest known window says, and whether it is known from `learn` alone."""
        live = self._text.memory.find(tail)
        learned = self._learned.find(tail, 0 if live is None else live.length + 1)
        return (live, False) if learned is None else (learned, True)


def _windows(text: str, language: str) -> Iterator[tuple[Tail, Element]]:
    """Each element of `text`, and what stands before it: the same tail each time, moved on."""
    reader = lexer(language)
    state, lexemes = reader.feed(START, text.encode())
    tail, layout = Tail([BARRIER]), Layout()
    for lexeme in (*lexemes, *reader.peek(state)[1]):
        element, layout = element_of(lexeme, layout)
        yield tail, element
        tail.append(element)


class _Replay(NamedTuple):
    """A text to follow, of which `sure` bytes are proposed, and what its first new lexeme rests on."""

    text: bytes
    sure: int
    found: Found
    learned: bool  # known from `learn` alone
    standing: int  # one of the below

    @property
    def reach(self) -> int:
        """The window's length, in three classes."""
        return self.found.length * 3 // len(WINDOWS)

    @property
    def evidence(self) -> int:
        """Standing, window length, agreement of what followed, source."""
        found = self.found
        agreement = 2 if found.times < found.total else 1 if found.times > 1 else 0
        return ((self.standing * 3 + self.reach) * 3 + agreement) * 2 + self.learned

    @property
    def prior(self) -> float:
        if self.found.times < self.found.total:
            return _PRIOR_OF_MANY
        return _PRIORS[self.standing][self.reach]


_NOVEL, _KNOWN_NAME = range(2)
"""Where a replay stands: behind a complete lexeme, or a name that may be one, since it occurred before."""
_PRIORS = ((0.4, 0.5, 0.6), (0.4, 0.5, 0.5))
_PRIOR_OF_MANY = 0.3  # where not all agree


def _resolve(found: Found, tail: Tail, members: dict[bytes, bytes]) -> Element:
    """The element that `found` stands for among the names at hand."""
    lead, back, text = found.follower
    if back > 0:
        return Element(lead, tail.text(back), named=True)
    if back == FRESH and (owner := owner_of(tail)) is not None:
        text = members.get(owner, text)
    return Element(lead, text, back == FRESH)
