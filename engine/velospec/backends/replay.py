"""A backend that writes a recorded answer again, whatever it is offered: what would other drafts have cost?

Its logits say at each place what the model chose there and how sure it was of it, and nothing else. What the
drafts of a step are worth depends on no more than that, so that counts of a replay are those of the real run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from velospec.backends.base import Logits, Vocabulary
from velospec.core.errors import BackendError

_SURE = 1e-3  # least margin: a tie would go to the lower id
_MOST = 1e4  # largest: where nothing else could be chosen it was infinite, which is no logit


@dataclass(frozen=True, slots=True)
class Recording:
    """What a model wrote: its ids, and for each the margin that it was chosen with."""

    ids: tuple[int, ...]
    margins: tuple[float, ...]


class ReplayBackend:
    """Implements `backends.base.Backend` on one prompt and its recorded answer; it has one slot."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        prompt: Sequence[int],
        answer: Recording,
        *,
        min_rows: int,
        max_rows: int,
    ) -> None:
        self.vocabulary = vocabulary
        self.slots = 1
        self.min_rows, self.max_rows = min_rows, max_rows
        self.context = len(prompt) + len(answer.ids) + max_rows
        self._start = len(prompt)
        self._answer = answer
        self._length = 0
        self._logits: Logits = np.zeros((max_rows, vocabulary.size), np.float32)
        self._chosen: list[tuple[int, int]] = []  # the cells of the logits that are not 0

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        self._append(slot, ids, position)

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        self._append(slot, ids, position)
        for cell in self._chosen:
            self._logits[cell] = 0.0
        self._chosen.clear()
        for row in range(len(ids)):
            place = position + row + 1 - self._start
            if 0 <= place < len(self._answer.ids):
                cell = (row, self._answer.ids[place])
                self._logits[cell] = min(max(self._answer.margins[place], _SURE), _MOST)
                self._chosen.append(cell)
        return self._logits[: len(ids)]

    def truncate(self, slot: int, length: int) -> int:
        if slot or not 0 <= length <= self._length:
            raise BackendError(f"The replay holds {self._length} ids, not {length}.")
        self._length = length
        return length

    def close(self) -> None:
        """Nothing to free."""

    def _append(self, slot: int, ids: Sequence[int], position: int) -> None:
        if slot or position != self._length or not ids:
            raise BackendError(f"{len(ids)} ids at {position}; the replay holds {self._length}.")
        if position + len(ids) > self.context:
            raise BackendError(f"Position {position + len(ids)} is behind the end of the replay.")
        self._length += len(ids)
