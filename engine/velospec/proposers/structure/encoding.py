"""The ids that a model writes a text with, in the place where it stands; remembered.

A tokenizer joins letters to tokens by what stands around them. So the text is encoded together with the last
bytes before it, and what does not begin where those end is no draft: there the model has already gone another
way. Knows nothing of languages.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.backends.base import Vocabulary

_MOST_KEPT = 20_000  # texts; about 300 bytes each
_CONTEXT = 4  # ids before the text that may have a say in how it is cut into tokens


class Encoder:
    """Encodes texts that follow given ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[tuple[bytes, bytes, int], tuple[int, ...]] = {}

    def after(self, ids: Sequence[int], open_bytes: int, text: bytes, sure: int) -> tuple[int, ...]:
        """The ids of the first `sure` bytes of `text`, of which the rest is a guess at what follows it.

        `ids` is all before it; its last `open_bytes` bytes belong to a lexeme or whitespace that `text` may
        go on with. An id that reaches beyond `sure` is left out. Empty where `ids` cannot go on like that.
        """
        before = self._before(ids, open_bytes)
        key = (before, text, sure)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            found = self._known[key] = encode_behind(self._vocabulary, before, text, sure)
        return found

    def _before(self, ids: Sequence[int], open_bytes: int) -> bytes:
        before = b""
        for token in reversed(ids[-_CONTEXT:]):
            before = self._vocabulary.piece(token) + before
            if len(before) >= open_bytes:
                break
        return before


def encode_behind(vocabulary: Vocabulary, before: bytes, text: bytes, sure: int) -> tuple[int, ...]:
    """The ids of the first `sure` bytes of `text` behind the bytes of an id or more; see `Encoder.after`."""
    try:
        whole = (before + text).decode()
    except UnicodeDecodeError:
        if not before:
            return ()  # it begins or ends inside a character
        return encode_behind(vocabulary, b"", text, sure)
    ids = vocabulary.encode(whole)
    ends, length = [], 0
    for token in ids:
        length += len(vocabulary.piece(token))
        ends.append(length)
    extra = length - len(before) - len(text)  # a SentencePiece vocabulary may begin with a space
    start = extra + len(before)
    if extra < 0 or (start and start not in ends):
        return ()
    return tuple(token for token, end in zip(ids, ends, strict=True) if start < end <= start + sure)
