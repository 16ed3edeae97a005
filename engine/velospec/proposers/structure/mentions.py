"""What a request mentions that its answer may repeat as values: numbers, names, quoted words; and its keys.

The request is the last longer text of the prompt: control tokens part a chat into texts. Knows no schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property

from velospec.backends.base import Vocabulary

_LEAST = 12  # bytes of a text that may be a request: shorter ones are names of roles
_LONGEST = 4000  # bytes at its end that are looked at
_MOST = 64  # values of a kind
_NUMBER = re.compile(rb"(?<![\w.])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])-?\d+(?:\.\d+)?")
_QUOTED = re.compile(rb"(?<!\w)'([^'\n]{1,60})'(?!\w)|\"([^\"\n]{1,60})\"")
_NAME = re.compile(rb"[A-Z][\w.'/-]*(?:,? (?:of |the |de |and )?(?:[A-Z]|\d+\b)[\w.'/-]*)*")
_BEGINS = re.compile(rb"(?:^|[.!?:\n]\s*)$")  # of a sentence: its first word has a capital anyway
_KEY = re.compile(rb'"([^"\\\n]{1,60})"\s*:')
_VALUE_REST = re.compile(rb"[\n\"',.;:!?()]")
_WORD = re.compile(rb"[^\W_]+")


class Mentions:
    """Of one prompt."""

    def __init__(self, vocabulary: Vocabulary, ids: Sequence[int]) -> None:
        parts = _parts(vocabulary, ids)
        self._prompt = b"\n".join(parts)
        texts = [text for text in parts if len(text.strip()) >= _LEAST]
        self.request = texts[-1][-_LONGEST:] if texts else b""
        self._lower = self.request.lower()

    @cached_property
    def numbers(self) -> list[tuple[int, bytes]]:
        """Where each number stands, and how JSON writes it."""
        found = _NUMBER.finditer(self.request)
        return [(match.start(), _plain(match[0])) for match in found][:_MOST]

    @cached_property
    def names(self) -> list[bytes]:
        """Quoted texts and names, in their order."""
        found = [(match.start(), match[1] or match[2]) for match in _QUOTED.finditer(self.request)]
        for match in _NAME.finditer(self.request):
            text = match[0].rstrip(b".,'-/")
            if _BEGINS.search(self.request, 0, match.start()):
                text = text.partition(b" ")[2]
            text = text.removesuffix(b"'s")
            if text and text != b"I":
                found.append((match.start(), text))
        return [text for _, text in sorted(found)][:_MOST]

    @cached_property
    def keys(self) -> list[bytes]:
        """The keys of all JSON in the prompt, in their order, schemas among it."""
        return [match[1] for match in _KEY.finditer(self._prompt)]

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The request's words in lower case."""
        return frozenset(_WORD.findall(self._lower))

    @cached_property
    def texts(self) -> frozenset[bytes]:
        """The numbers alone."""
        return frozenset(text for _, text in self.numbers)

    def number_near(self, key: bytes, used: Collection[int]) -> bytes | None:
        """The unused number that stands first behind a word of `key`, or the first unused one."""
        unused = [(place, text) for place, text in self.numbers if place not in used]
        ends = [
            end.end()
            for word in _WORD.findall(key.lower())
            if len(word) > 2
            for end in re.finditer(re.escape(word), self._lower)
        ]
        behind = [(place - end, place, text) for place, text in unused for end in ends if place >= end]
        if behind:
            return min(behind)[2]
        return unused[0][1] if unused else None

    def rest(self, written: bytes) -> bytes | None:
        """How the request goes on behind `written`, to where a value may end; None without such a text."""
        place = self._lower.rfind(written.lower()) if written.strip() else -1
        if place < 0 or (place and self._lower[place - 1 : place].isalnum()):
            return None
        start = place + len(written)
        return _VALUE_REST.split(self.request[start : start + 60], maxsplit=1)[0].rstrip()

    def mentioned(self, text: bytes) -> int:
        """How many words of `text` the request has, endings left alone."""
        words = [word for word in _WORD.findall(text.lower()) if len(word) > 1]
        return sum(any(_same(word, other) for other in self.words) for word in words)


def numbers_in(text: bytes) -> list[bytes]:
    """The numbers in `text`, as JSON writes them."""
    return [_plain(number) for number in _NUMBER.findall(text)]


def _plain(number: bytes) -> bytes:
    return number.replace(b",", b"")


def _same(word: bytes, other: bytes) -> bool:
    stem = max(4, min(len(word), len(other)) - 2)
    return word == other or (min(len(word), len(other)) >= stem and word[:stem] == other[:stem])


def _parts(vocabulary: Vocabulary, ids: Sequence[int]) -> list[bytes]:
    """The texts between control tokens."""
    parts: list[list[bytes]] = [[]]
    for token in ids:
        if token in vocabulary.control_ids:
            parts.append([])
        else:
            parts[-1].append(vocabulary.piece(token))
    return [b"".join(part) for part in parts]
