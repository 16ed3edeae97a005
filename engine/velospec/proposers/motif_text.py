"""The text of a request as motifs see it: read id by id, noted element by element, taken back in part.

Feeds what it reads into a `MotifMemory` of its own, and keeps what else a replay needs: which names occurred,
which members followed which names, and which words followed which. Drafts nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from velospec.backends.base import Vocabulary
from velospec.core.ids import common_length
from velospec.proposers.motif_memory import LONGEST, Element, MotifMemory, Tail
from velospec.proposers.structure.layout import Layout, relative
from velospec.proposers.structure.lexing import START, Kind, Lexeme, State, lexer

_WINDOWS = 40_000  # followers kept of a request, 8 a lexeme; about 5 MB
_ACCESS = frozenset((b".", b"->", b"?.", b"::"))
BARRIER = Element(b"\0", b"", named=False)
"""Parts texts that do not follow each other."""
APART = -1
"""Stands for a control token among the ids."""


class MotifText:
    """The text of a request as it grows: its ids, the state of its lexer, its elements, and their motifs."""

    def __init__(self, vocabulary: Vocabulary, language: str) -> None:
        self._vocabulary = vocabulary
        self._lexer = lexer(language)
        self.memory = MotifMemory(_WINDOWS)
        self.members: dict[bytes, bytes] = {}  # a name -> the member last seen after it
        self.ids: list[int] = []
        self.tail = Tail()  # of the elements
        self._elements: list[Element] = []
        self._states: list[State] = []  # after each id
        self._lengths: list[int] = []  # elements after each id
        self._layouts: list[Layout] = []  # after each element
        self.names: Counter[bytes] = Counter()  # how often each occurs
        self._words: dict[int, bytes] = {}  # three words as they are -> the word that last followed
        self._said: list[bytes | None] = []  # for each element: what it replaced there
        self._replaced: list[
            tuple[bytes, bytes | None] | None
        ] = []  # for each element: the member it replaced

    @property
    def state(self) -> State:
        return self._states[-1] if self._states else START

    @property
    def layout(self) -> Layout:
        return self._layouts[-1] if self._layouts else Layout()

    def become(self, ids: Sequence[int]) -> None:
        """Be the text of `ids`, keeping what is common."""
        common = common_length(self.ids, ids)
        self._cut(common)
        for token in ids[common:]:
            self.append(token)

    def append(self, token: int) -> None:
        if token == APART:
            state, lexemes = self._lexer.peek(self.state)
            self._take(lexemes)
            self._note(BARRIER, Layout())
            state = START
        else:
            state, lexemes = self._lexer.feed(self.state, self._vocabulary.piece(token))
            self._take(lexemes)
        self.ids.append(token)
        self._states.append(state)
        self._lengths.append(len(self._elements))

    def closed(self) -> tuple[Tail, Layout]:
        """The last elements and the layout, with what is pending taken as it stands."""
        tail, layout = self.tail.copy(), self.layout
        for lexeme in self._lexer.peek(self.state)[1]:
            element, layout = element_of(lexeme, layout)
            tail.append(element)
        return tail, layout

    def repeats(self, tail: Tail, element: Element) -> bool:
        """Whether `element` is what last followed the very words at the end of `tail`."""
        return self._words.get(tail.words) == element.text

    def _take(self, lexemes: Iterable[Lexeme]) -> None:
        for lexeme in lexemes:
            self._note(*element_of(lexeme, self.layout))

    def _note(self, element: Element, layout: Layout) -> None:
        """Add an element; `layout` is the one after it."""
        tail, text = self.tail, element.text
        self.memory.note(tail, element)
        self._said.append(self._words.get(tail.words))
        self._words[tail.words] = text
        owner = owner_of(tail) if element.named else None
        if owner is None:
            self._replaced.append(None)
        else:
            self._replaced.append((owner, self.members.get(owner)))
            self.members[owner] = text
        if element.named:
            self.names[text] += 1
        self._elements.append(element)
        self._layouts.append(layout)
        tail.append(element)

    def _cut(self, length: int) -> None:
        """Undo all but the first `length` ids."""
        del self.ids[length:], self._states[length:], self._lengths[length:]
        kept = self._lengths[-1] if self._lengths else 0
        while len(self._elements) > kept:
            element = self._elements.pop()
            self._layouts.pop()
            self.tail = Tail(self._elements[-LONGEST:])
            self.memory.take_back(self.tail, element)
            said = self._said.pop()
            if said is None:
                del self._words[self.tail.words]
            else:
                self._words[self.tail.words] = said
            if element.named:
                self.names[element.text] -= 1
                if not self.names[element.text]:
                    del self.names[element.text]
            match self._replaced.pop():
                case (owner, None):
                    del self.members[owner]
                case (owner, bytes(member)):
                    self.members[owner] = member


def element_of(lexeme: Lexeme, layout: Layout) -> tuple[Element, Layout]:
    """A lexeme in a place of `layout`, and the layout after it."""
    lead, layout = relative(lexeme.lead, layout)
    return Element(lead, lexeme.text, lexeme.kind is Kind.NAME), layout


def owner_of(tail: Tail) -> bytes | None:
    """The name whose member comes next."""
    return tail.text(2) or None if tail.text(1) in _ACCESS else None
