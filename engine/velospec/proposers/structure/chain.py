"""A draft put together of parts: forced text, values that are guessed as text, and single ids.

Text that follows text is encoded as one, since a tokenizer may join its parts: `"` and `}`. Each id then
has the evidence of the least sure part that it touches. The grammar is asked behind the ids so far, and no
part is added that it does not allow. Knows no JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.proposers.base import GrammarView
from velospec.proposers.structure.cuts import Cuts
from velospec.proposers.structure.encoding import Encoder

_LEAST = 0.04
"""A chain ends where its own priors give less than this to all of it being right."""


class Chain:
    """One draft under way."""

    def __init__(
        self, grammar: GrammarView, encoder: Encoder, cuts: Cuts, tail: Sequence[int], limit: int
    ) -> None:
        """`tail` are the last ids that were decided, `limit` is the most ids of the draft."""
        self._grammar = grammar
        self._piece = encoder.piece
        self._encoder = encoder
        self._cuts = cuts
        self._tail = tail
        self._limit = limit
        self._settled: tuple[int, ...] = ()
        self._guesses: list[tuple[int, float]] = []  # of the settled ids
        self._text = b""  # behind them
        self._marks: list[tuple[int, int, float]] = []  # of the text: where each part ends, evidence, prior
        self._ids: tuple[int, ...] = ()  # settled ids and those of the text
        self._chance = 1.0

    @property
    def ids(self) -> tuple[int, ...]:
        return self._ids

    @property
    def open(self) -> bool:
        """Whether more can be added."""
        return len(self._ids) < self._limit and self._chance > _LEAST

    def forced(self) -> bytes:
        """What the grammar forces behind the chain."""
        return self._grammar.forced(self._ids)

    def fits(self, text: bytes) -> bool:
        """Whether the grammar allows all of `text` next, however it may be cut into tokens."""
        ids = self._encoder.behind(self._tail, text)
        return bool(ids) and self._grammar.valid(self._ids, ids) == len(ids)

    def add(self, *parts: tuple[bytes, int, float], sure: bool = False) -> bool:
        """Add text, its parts with evidence and prior, that the grammar allows, which it does if `sure`.

        False, and nothing added, where it does not, or where no ids are found for the text.
        """
        whole = self._text + b"".join([text for text, _, _ in parts])
        ids = self._encoded(whole)
        if not ids or not (
            self._spelled(ids) == whole if sure else self._grammar.valid(self._settled, ids) == len(ids)
        ):
            return False
        for text, evidence, prior in parts:
            self._text += text
            self._marks.append((len(self._text), evidence, prior))
            self._chance *= prior
        self._ids = self._settled + ids
        return True

    def few(self, most: int) -> list[int]:
        """The ids that the grammar allows next, if these are not more than `most`; else none."""
        allowed = None if self._grammar.slow_masks else self._grammar.allowed(self._ids)
        return [] if allowed is None or len(allowed) > most else allowed.tolist()

    def forced_behind(self, token: int) -> bytes:
        """What the grammar forces behind the chain and the allowed id `token`."""
        return self._grammar.forced((*self._ids, token))

    def add_id(self, token: int, evidence: int, prior: float, *, sure: bool = False) -> bool:
        """Add a single id that the grammar allows, which it does if `sure`; else False, and nothing added."""
        if not sure and self._grammar.valid(self._ids, (token,)) < 1:
            return False
        self._settle()
        self._settled = self._ids = (*self._ids, token)
        self._guesses.append((evidence, prior))
        self._chance *= prior
        return True

    def guesses(self, edge: tuple[int, float] | None = None) -> tuple[tuple[int, float], ...]:
        """Evidence and prior of each id; `edge` are those of an id at the end of text, where less sure."""
        ends_in_text = bool(self._text)
        self._settle()
        if edge is not None and ends_in_text:
            self._guesses[-1] = min(self._guesses[-1], edge, key=lambda guess: guess[1])
        return tuple(self._guesses)

    def _encoded(self, text: bytes) -> tuple[int, ...]:
        return self._cuts.apply(self._encoder.behind(self._settled or self._tail, text))

    def _spelled(self, ids: Sequence[int]) -> bytes:
        return b"".join([self._piece(token) for token in ids])

    def _settle(self) -> None:
        """Tell the ids of the text by its parts."""
        if not self._text:
            return
        start, mark, marks = 0, 0, self._marks
        for token in self._ids[len(self._settled) :]:
            end = start + len(self._piece(token))
            while mark < len(marks) - 1 and marks[mark][0] <= start:
                mark += 1
            touched = [marks[mark][1:]]
            more = mark
            while marks[more][0] < end and more < len(marks) - 1:
                more += 1
                touched.append(marks[more][1:])
            self._guesses.append(min(touched, key=lambda guess: guess[1]))
            start = end
        self._settled, self._text, self._marks = self._ids, b"", []
