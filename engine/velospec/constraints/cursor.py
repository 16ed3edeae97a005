"""The constraint of a grammar: an engine's matcher, kept in step with decided ids and drafts.

The matcher is moved only where a question needs it, goes back exactly, and stays where it was asked: what is
decided is mostly where it stands already. What it said is remembered (`found`). Knows no text and no schema.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from velospec.backends.base import Vocabulary
from velospec.constraints.base import Ids
from velospec.constraints.found import Found
from velospec.constraints.matcher import Matcher
from velospec.core.errors import BackendError
from velospec.core.ids import common_length

SLOW_MASK_SECONDS = 0.002
"""A mask that takes longer than this on average is avoided: a fifth of a step of a small model."""

_FEW_WORDS = 24  # of a mask, up to which its ids are listed one by one
_RECENT = 0.3  # weight of the newest mask in the running average
_FORGIVEN = 0.98  # of that average for each mask avoided, so that slow masks are tried again


class GrammarConstraint:
    """Implements `constraints.base.GrammarCursor`; one serves one request."""

    def __init__(  # noqa: PLR0913 - all but the first two by name
        self,
        matcher: Matcher,
        vocabulary: Vocabulary,
        *,
        marks: Mapping[int, bytes] | None = None,
        slow: float = SLOW_MASK_SECONDS,
        part: bool = False,
        key: Hashable = None,
        before: bytes = b"",
    ) -> None:
        """Take over `matcher`, at the beginning of the answer; a `part` is as in `core.grammar.Grammar`.

        `key` is the same for all answers of one grammar, `before` the text that stands there already.
        """
        self.marks = marks or {}
        self.key = key
        self.before = before
        self.seconds = 0.0
        self._matcher = matcher
        self._size = vocabulary.size
        self._piece = vocabulary.piece
        self._end_ids = vocabulary.end_ids
        self._decided: list[int] = []
        self._ahead: tuple[int, ...] = ()  # what the matcher is ahead of the decided ids
        self._found = Found(self._piece)
        self._mask = np.zeros(-(-self._size // 32), dtype=np.int32)
        self._bits = self._mask.view(np.uint32)
        self._end_bits = _bits_of(self._end_ids)
        self._masked: tuple[int, ...] | None = None  # which ids ahead the mask is for
        self._ended = False
        self._slow = slow
        self._part = part
        self._mask_seconds = 0.0

    @property
    def slow_masks(self) -> bool:
        return self._mask_seconds > self._slow

    @property
    def forced_tokens(self) -> int:
        """Counted when it is asked for: the answer is read once more from its beginning."""
        matcher, count, read, text = self._matcher, 0, 0, b""
        self._move(())
        matcher.rollback(len(self._decided))
        for place, token in enumerate(self._decided):
            if not text:
                matcher.consume(self._decided[read:place])
                read, text = place, matcher.forced()
            piece = self._piece(token)
            inside = bool(piece) and text.startswith(piece)
            count += inside
            text = text[len(piece) :] if inside else b""
        matcher.consume(self._decided[read:])
        return count

    @property
    def closed(self) -> bool:
        self._move(())
        return self._matcher.stopped

    def closes(self, ids: Sequence[int]) -> bool:
        path = tuple(ids)
        if self._found.forced(path):
            return False
        started = time.perf_counter()
        self._move(path)
        closed = self._matcher.stopped
        self.seconds += time.perf_counter() - started
        return closed

    @property
    def complete(self) -> bool:
        return self._ended or self.closed

    @property
    def accepting(self) -> bool:
        self._move(())
        return self._ended or self._matcher.accepting

    def allowed(self, ahead: Sequence[int]) -> Ids:
        started = time.perf_counter()
        self._fill(ahead)
        ids = self._ids()
        self.seconds += time.perf_counter() - started
        return ids

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        ids = (*ahead, token)
        if self._found.allowed(ids):
            return True
        started = time.perf_counter()
        allowed = self._allows(ids)
        self.seconds += time.perf_counter() - started
        return allowed

    def ends(self, ahead: Sequence[int]) -> bool:
        # What is forced is written out: nobody wants half of a key or of a name.
        return self.allows(ahead, min(self._end_ids)) or (self._part and not self.forced(ahead))

    def valid(self, ahead: Sequence[int], ids: Sequence[int]) -> int:
        """How many of `ids` are allowed behind the allowed ids `ahead`, counted from the first."""
        if self._found.allowed((*ahead, *ids)):
            return len(ids)
        started = time.perf_counter()
        count = self._read((*ahead, *ids)) - len(ahead)
        self.seconds += time.perf_counter() - started
        return count

    def trim(self, ids: Sequence[int]) -> int:
        return self.valid((), ids)

    def advance(self, ids: Sequence[int]) -> None:
        """Move the cursor over decided `ids`; ids behind an end token are not looked at.

        Raises:
            BackendError: one of them is not allowed, so that engine and verifier have lost each other.
        """
        started = time.perf_counter()
        end = next((place for place, token in enumerate(ids) if token in self._end_ids), len(ids))
        self._ended = self._ended or end < len(ids)
        decided = tuple(ids[:end])
        self._move(decided)
        self._decided += decided
        self._ahead, self._masked = (), None
        self._found.advance(decided)
        self.seconds += time.perf_counter() - started

    def density(self, ahead: Sequence[int] = ()) -> float:
        if self.slow_masks:
            self._mask_seconds *= _FORGIVEN
            return 1.0
        started = time.perf_counter()
        self._fill(ahead)
        share = int(np.bitwise_count(self._bits).sum()) / self._size
        self.seconds += time.perf_counter() - started
        return share

    def rough_density(self) -> float:
        return 1 / self._size if self.forced() else 1.0

    def forced(self, ahead: Sequence[int] = ()) -> bytes:
        started = time.perf_counter()
        text = self._forced(tuple(ahead))
        self.seconds += time.perf_counter() - started
        return text

    def _forced(self, ahead: tuple[int, ...]) -> bytes:
        text = self._found.forced(ahead)
        if text is None:
            self._move(ahead)
            text = self._matcher.forced()
            self._found.note_forced(ahead, text)
        return text

    def _allows(self, ids: tuple[int, ...]) -> bool:
        """Whether the last of `ids` is allowed behind the others, which are."""
        token, ahead = ids[-1], ids[:-1]
        if token in self._end_ids:
            self._move(ahead)
            return self._matcher.accepting
        if self._masked == ahead:
            return bool(int(self._bits[token >> 5]) >> (token & 31) & 1)
        return self._read(ids) == len(ids)

    def _read(self, ids: tuple[int, ...]) -> int:
        """How many of `ids`, behind the decided ones, are allowed."""
        count, all_told = self._found.judged(ids)
        if not all_told:
            return self._follow(ids)
        self._found.note_allowed(ids[:count])
        return count

    def _follow(self, ids: tuple[int, ...]) -> int:
        """Move over `ids` as far as they are allowed; how many of them."""
        kept = self._go_back(ids)
        count = kept + self._matcher.consume(ids[kept:])
        self._ahead = ids[:count]
        self._found.note_allowed(self._ahead)
        return count

    def _move(self, ahead: tuple[int, ...]) -> None:
        """Bring the matcher behind the decided ids and the allowed ids `ahead`."""
        if self._ahead != ahead and self._follow(ahead) < len(ahead):
            self._matcher.check()
            raise BackendError(
                "The grammar engine refuses a token that its own mask allowed.",
                "Report this with the grammar; another one may work until it is mended.",
            )

    def _go_back(self, ids: tuple[int, ...]) -> int:
        """Bring the matcher to where it has read nothing but a beginning of `ids`; how many of them."""
        kept = common_length(self._ahead, ids)
        if kept < len(self._ahead):
            self._matcher.rollback(len(self._ahead) - kept)
        return kept

    def _fill(self, ahead: Sequence[int]) -> None:
        """Make the mask that of the place behind `ahead`."""
        wanted = tuple(ahead)
        if self._masked == wanted:
            return
        self._move(wanted)
        started = time.perf_counter()
        self._mask.fill(0)
        if not self._ended:
            self._matcher.fill(self._mask)
        self._mark_ends(allowed=self._ended or self._matcher.accepting)
        self._masked = wanted
        self._mask_seconds += _RECENT * (time.perf_counter() - started - self._mask_seconds)

    def _mark_ends(self, *, allowed: bool) -> None:
        words, ends = self._end_bits
        self._bits[words] = self._bits[words] | ends if allowed else self._bits[words] & ~ends

    def _ids(self) -> Ids:
        words = np.flatnonzero(self._bits)
        if len(words) > _FEW_WORDS:
            bits = np.unpackbits(self._mask.view(np.uint8), bitorder="little", count=self._size)
            return np.flatnonzero(bits).astype(np.int32)
        ids: list[int] = []
        for place, word in zip(words.tolist(), self._bits[words].tolist(), strict=True):
            left = word
            while left:
                lowest = left & -left
                ids.append(32 * place + lowest.bit_length() - 1)
                left ^= lowest
        return np.array(ids, dtype=np.int32)


def _bits_of(ids: Iterable[int]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint32]]:
    """The words of a mask that have `ids`, and their bits in each."""
    bits: dict[int, int] = {}
    for token in ids:
        bits[token >> 5] = bits.get(token >> 5, 0) | 1 << (token & 31)
    return np.array(list(bits), np.intp), np.array(list(bits.values()), np.uint32)
