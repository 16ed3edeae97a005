"""Bytes to text, piece by piece: what is given out never ends inside a UTF-8 sequence.

Invalid bytes become U+FFFD, one for each maximal ill-formed part, as `bytes.decode(errors="replace")` has
it. Knows nothing of tokens or stop rules.
"""

from __future__ import annotations

import codecs

_DECODER = codecs.getincrementaldecoder("utf-8")


class Detokenizer:
    """An incremental UTF-8 decoder: the parts it returns join to the text of all bytes fed."""

    def __init__(self) -> None:
        self._decoder = _DECODER(errors="replace")

    def feed(self, data: bytes) -> str:
        """The text that `data` completes; an unfinished sequence at its end waits for the next call."""
        return self._decoder.decode(data)

    @property
    def waiting(self) -> int:
        """How many bytes at the end belong to an unfinished sequence and were not given out."""
        return len(self._decoder.getstate()[0])
