"""Encodes a user's text as plain text, byte for byte, and finds what to take back at a cursor.

A tokenizer may turn a sentinel that stands in the user's own source (say, in a file about infilling) into
the control token itself; here it stays text. Knows tokens and bytes; nothing of prompts. A SentencePiece
vocabulary cannot tell U+2581 from a space, so that this one character comes back as a space there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from velospec.backends.base import Vocabulary

_MOST_HEALED = 4


@dataclass(frozen=True)
class PlainText:
    """The plain-text side of one vocabulary. `sentinels` are the texts that must stay text, by token id."""

    vocabulary: Vocabulary
    sentinels: dict[int, str]

    @cached_property
    def _pieces(self) -> list[bytes]:
        return [self.vocabulary.piece(token) for token in range(self.vocabulary.size)]

    @cached_property
    def _sorted_pieces(self) -> list[bytes]:
        return sorted({piece for piece in self._pieces if piece})

    @cached_property
    def _forbidden(self) -> frozenset[int]:
        return self.vocabulary.control_ids | self.vocabulary.end_ids | self.sentinels.keys()

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, none of them a control token, whose bytes are those of `text`.

        Bytes that the vocabulary has no token for are left out (SmolLM2's lacks a few control characters).
        """
        if not text:
            return []
        ids = self.vocabulary.encode(text)
        if self._forbidden.isdisjoint(ids):
            return ids
        return self._encode_apart(text)

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes that `ids` stand for."""
        return b"".join(map(self._pieces.__getitem__, ids))

    def take_back(self, ids: Sequence[int]) -> tuple[int, bytes]:
        """How many of the last `ids` to take back at a cursor, and their bytes.

        The most tokens (up to four) whose bytes some single longer token begins with: `ret`, `u` where there
        is `return`. Taking back only the last would leave the model before a split it never saw in training.
        """
        best, tail = (0, b""), b""
        for count, token in enumerate(reversed(ids[-_MOST_HEALED:]), start=1):
            tail = self._pieces[token] + tail
            if self._begins_longer(tail):
                best = (count, tail)
        return best

    def _begins_longer(self, tail: bytes) -> bool:
        """Whether a token is longer than `tail` and begins with it."""
        pieces = self._sorted_pieces
        place = bisect_left(pieces, tail + b"\0")  # the first piece after `tail` itself
        return place < len(pieces) and pieces[place].startswith(tail)

    def _encode_apart(self, text: str) -> list[int]:
        """As `encode`, for a text that holds sentinels: each is cut in two and so escapes the tokenizer."""
        pieces = [text]
        for sentinel in self.sentinels.values():
            pieces = [half for piece in pieces for half in _cut(piece, sentinel)]
        ids: list[int] = []
        for piece in pieces:
            part = self.vocabulary.encode(piece)
            if not self._forbidden.isdisjoint(part):  # a control token that is no known sentinel
                part = [token for letter in piece for token in self.vocabulary.encode(letter)]
            ids += part
        return [token for token in ids if token not in self._forbidden]


def _cut(text: str, sentinel: str) -> list[str]:
    """`text` cut inside each occurrence of `sentinel`, after its first character."""
    head, *rest = text.split(sentinel)
    parts = [head]
    for part in rest:
        parts[-1] += sentinel[0]
        parts.append(sentinel[1:] + part)
    return parts
