"""The text of a request as motifs see it: read id by id, noted element by element, taken back in part.

Feeds what it reads into a `MotifMemory` of its own, and keeps what else a replay needs: which names occurred,
which members followed which names, and which words followed which. Drafts nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from velospec.backends.base import Vocabulary
from velospec.proposers.motif_memory import WINDOWS, Element, MotifMemory, views
from velospec.proposers.structure.layout import Layout, relative
from velospec.proposers.structure.lexing import Kind, Lexeme, State, lexer

_WINDOWS = 40_000  # kept of a request, 8 a lexeme; about 5 MB
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
        self.elements: list[Element] = []
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
        return self._states[-1] if self._states else State()

    @property
    def layout(self) -> Layout:
        if not self.elements:
            return Layout()
        return self._layouts[-1]

    def become(self, ids: Sequence[int]) -> None:
        """Be the text of `ids`, keeping what is common."""
        pairs = enumerate(zip(self.ids, ids, strict=False))
        common = next((i for i, (mine, theirs) in pairs if mine != theirs), min(len(self.ids), len(ids)))
        self._cut(common)
        for token in ids[common:]:
            self.append(token)

    def append(self, token: int) -> None:
        if token == APART:
            state, lexemes = self._lexer.peek(self.state)
            self._take(lexemes)
            self._note(BARRIER, Layout())
            state = State()
        else:
            state, lexemes = self._lexer.feed(self.state, self._vocabulary.piece(token))
            self._take(lexemes)
        self.ids.append(token)
        self._states.append(state)
        self._lengths.append(len(self.elements))

    def closed(self) -> tuple[list[Element], Layout]:
        """The last elements and the layout, with what is pending taken as it stands."""
        elements, layout = self.elements[-WINDOWS[-1] :], self.layout
        for lexeme in self._lexer.peek(self.state)[1]:
            element, layout = element_of(lexeme, layout)
            elements.append(element)
        return elements, layout

    def repeats(self, elements: Sequence[Element], element: Element) -> bool:
        """Whether `element` is what last followed the very words at the end of `elements`."""
        return self._words.get(_words(elements)) == element.text

    def _take(self, lexemes: Iterable[Lexeme]) -> None:
        for lexeme in lexemes:
            self._note(*element_of(lexeme, self.layout))

    def _note(self, element: Element, layout: Layout) -> None:
        """Add an element; `layout` is the one after it."""
        elements = self.elements
        self.memory.note(views(elements), element)
        words = _words(elements)
        self._said.append(self._words.get(words))
        self._words[words] = element.text
        owner = owner_of(elements) if element.named else None
        if owner is None:
            self._replaced.append(None)
        else:
            self._replaced.append((owner, self.members.get(owner)))
            self.members[owner] = element.text
        if element.named:
            self.names[element.text] += 1
        elements.append(element)
        self._layouts.append(layout)

    def _cut(self, length: int) -> None:
        """Undo all but the first `length` ids."""
        del self.ids[length:], self._states[length:], self._lengths[length:]
        kept = self._lengths[-1] if self._lengths else 0
        while len(self.elements) > kept:
            element = self.elements.pop()
            self._layouts.pop()
            self.memory.take_back(views(self.elements), element)
            words, said = _words(self.elements), self._said.pop()
            if said is None:
                del self._words[words]
            else:
                self._words[words] = said
            if element.named:
                self.names[element.text] -= 1
            match self._replaced.pop():
                case (owner, None):
                    del self.members[owner]
                case (owner, bytes(member)):
                    self.members[owner] = member


def element_of(lexeme: Lexeme, layout: Layout) -> tuple[Element, Layout]:
    """A lexeme in a place of `layout`, and the layout after it."""
    lead, layout = relative(lexeme.lead, layout)
    return Element(lead, lexeme.text, lexeme.kind is Kind.NAME), layout


def _words(elements: Sequence[Element]) -> int:
    return hash(tuple(element.text for element in elements[-3:]))


def owner_of(elements: Sequence[Element]) -> bytes | None:
    """The name whose member comes next."""
    if len(elements) > 1 and elements[-1].text in _ACCESS:
        return elements[-2].text
    return None
