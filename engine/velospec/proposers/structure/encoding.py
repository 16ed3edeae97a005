"""The ids that a model writes a text with, in the place where it stands; remembered.

A tokenizer joins letters to tokens by what stands around them. So the text is encoded together with the last
bytes before it, and what does not begin where those end is no draft: there the model has already gone another
way. Most tokenizers part a text before the space in front of a word and behind a run of letters, and many
between digits or letters and signs. Where one does so with a sample, texts are put together of words whose
ids are known from what was read: a tokenizer that compiles its rules anew for each text takes as long for a
few letters as all else in a step. Knows nothing of languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from velospec.backends.base import Vocabulary

_MOST_KEPT = 20_000  # texts, and as many words; about 300 bytes each
_CONTEXT = 4  # ids before the text that may have a say in how it is cut into tokens
_SPACED = r"(?<=\S)(?= \S)|(?<=\s)(?= [^\W\d_])|(?<=[^\W\d_])(?=[\W\d_])"
_PARTED = (  # the finest first: signs apart from letters and digits, digits apart from signs, neither
    re.compile(_SPACED + r"|(?<=\d)(?=[^\w\s])|(?<=[^\w\s])(?=[^\W_])"),
    re.compile(_SPACED + r"|(?<=\d)(?=[^\w\s])"),
    re.compile(_SPACED),
)
_SAMPLE = """def area(self, x1: int = 10) -> str:
    if not self._items.get("key's name"):  # TODO: no_value
        return [f"{x1:>8}", *y] + (a-b)/2.5 ** {}

# version 1.1b- - of    3.1   -  4. 5. 2009,   all
            ):
\tfor (let i=0;i<n;++i) { obj->call(&p[i], 'é') || true; }
<a href="#top">Résumé</a>
"""  # what is hard to part: signs in a row, underscores, digits, quotes, indentation


class Encoder:
    """Encodes texts that follow given ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.piece = vocabulary.piece
        self._known: dict[tuple[bytes, bytes, int], tuple[int, ...]] = {}
        self._words: dict[str, tuple[int, ...]] = {}
        whole = vocabulary.encode(_SAMPLE)
        for self._parted in _PARTED:
            self._by_words = self._join(_SAMPLE) == whole
            if self._by_words:
                break

    def read(self, ids: Sequence[int]) -> None:
        """Remember the words of a text that is written in `ids`. Takes a microsecond per id."""
        if not self._by_words:
            return
        pieces = [self._vocabulary.piece(token) for token in ids]
        words = self._parted.split(b"".join(pieces).decode(errors="surrogateescape"))
        place, reached, end = 0, 0, 0  # the next id, where it begins, where the word ends; in bytes
        # The first word may have begun before `ids`, and the last may go on behind them.
        for number, word in enumerate(words[:-1]):
            first, whole = place, reached == end
            end += len(word.encode(errors="surrogateescape"))
            while reached < end:
                reached += len(pieces[place])
                place += 1
            if number and whole and reached == end:
                self._keep(word, tuple(ids[first:place]))

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
            encode = self._join if self._by_words else self._vocabulary.encode
            found = self._known[key] = encode_behind(self._vocabulary, before, text, sure, encode)
        return found

    def behind(self, ids: Sequence[int], text: bytes) -> tuple[int, ...]:
        """The ids of all of `text`, as if it began a word behind `ids`.

        A vocabulary that begins each text with a space (SentencePiece) has to see what stands before it.
        Bytes of characters that `text` begins or ends within are ids of their own.
        """
        head, whole, tail = _characters(text)
        single = [self._single.get(byte) for byte in (*head, *tail)]
        before: Sequence[int] = () if head else ids
        inside = self.after((), 0, whole, len(whole)) or self.after(before, 1, whole, len(whole))
        found = [token for token in single if token is not None]
        if len(found) < len(single) or (whole and not inside):
            return ()
        return (*found[: len(head)], *inside, *found[len(head) :])

    @cached_property
    def _single(self) -> dict[int, int]:
        """The ids of single bytes; read when text was first cut within a character."""
        pieces = ((self.piece(token), token) for token in range(self._vocabulary.size))
        return {piece[0]: token for piece, token in pieces if len(piece) == 1}

    def _before(self, ids: Sequence[int], open_bytes: int) -> bytes:
        before = b""
        for token in reversed(ids[-_CONTEXT:]):
            before = self._vocabulary.piece(token) + before
            if len(before) >= open_bytes:
                break
        return before

    def _join(self, text: str) -> list[int]:
        """The ids of `text`, put together of those of its words."""
        ids: list[int] = []
        for word in self._parted.split(text):
            known = self._words.get(word)
            if known is None:
                known = tuple(self._vocabulary.encode(word))
                self._keep(word, known)
            ids += known
        return ids

    def _keep(self, word: str, ids: tuple[int, ...]) -> None:
        if len(self._words) >= _MOST_KEPT:
            self._words.clear()
        self._words[word] = ids


def _characters(text: bytes) -> tuple[bytes, bytes, bytes]:
    """What `text` has of a character that began before it, whole characters, and the beginning of one."""
    start = next((place for place, byte in enumerate(text[:3]) if not _goes_on(byte)), min(3, len(text)))
    end = len(text)
    back = next((back for back in range(1, min(3, end - start) + 1) if not _goes_on(text[end - back])), 0)
    if back and text[end - back] >= (0, 0xC0, 0xE0, 0xF0)[back]:  # a character of more bytes than these
        end -= back
    return text[:start], text[start:end], text[end:]


def _goes_on(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def encode_behind(
    vocabulary: Vocabulary,
    before: bytes,
    text: bytes,
    sure: int,
    encode: Callable[[str], Sequence[int]] | None = None,
) -> tuple[int, ...]:
    """The ids of the first `sure` bytes of `text` behind the bytes of an id or more; see `Encoder.after`."""
    try:
        whole = (before + text).decode()
    except UnicodeDecodeError:
        if not before:
            return ()  # it begins or ends inside a character
        return encode_behind(vocabulary, b"", text, sure, encode)
    ids = (encode or vocabulary.encode)(whole)
    ends, length = [], 0
    for token in ids:
        length += len(vocabulary.piece(token))
        ends.append(length)
    extra = length - len(before) - len(text)  # a SentencePiece vocabulary may begin with a space
    start = extra + len(before)
    if extra < 0 or (start and start not in ends):
        return ()
    return tuple(token for token, end in zip(ids, ends, strict=True) if start < end <= start + sure)
