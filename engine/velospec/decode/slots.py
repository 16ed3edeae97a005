"""KV slots: which slot serves a document, how much of its cache the new prompt can reuse, what to cut.

A slot's record of ids mirrors the KV cache: ids are recorded after the backend took them and dropped after it
cut them. Only a failed request may leave the cache shorter; the next `reuse` sees that. Knows ids and
documents' names, nothing of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from velospec.backends.base import Backend, Logits
from velospec.core.errors import BackendError
from velospec.core.ids import common_length


@dataclass(slots=True)
class Slot:
    """One KV sequence and the ids in it."""

    backend: Backend
    number: int
    document: str | None = None
    ids: list[int] = field(default_factory=list)
    used: int = 0  # the turn of its last request; 0 means never

    def prefill(self, ids: Sequence[int]) -> None:
        """Append `ids` without logits."""
        self.backend.prefill(self.number, ids, len(self.ids))
        self.ids.extend(ids)

    def decode(self, ids: Sequence[int]) -> Logits:
        """Append `ids` and return the logits of each; see `Backend.decode`."""
        logits = self.backend.decode(self.number, ids, len(self.ids))
        self.ids.extend(ids)
        return logits

    def truncate(self, length: int) -> None:
        """Cut back to the first `length` ids, none fewer: rows of the last decode, but for its first.

        Nothing to do where there are no more. Raises BackendError where the backend goes back further.
        """
        if length < len(self.ids):
            self.reuse(length)
            if len(self.ids) < length:
                raise BackendError(
                    f"The model's cache went back to {len(self.ids)} tokens instead of {length}.",
                    "Speculation is not possible with this model; choose another one.",
                )

    def reuse(self, length: int) -> None:
        """Cut back to the first `length` ids, or to fewer where a running state cannot go back so little."""
        del self.ids[self.backend.truncate(self.number, min(length, len(self.ids))) :]


class Slots:
    """All slots of a backend, shared out by document and by longest common prefix."""

    def __init__(self, backend: Backend) -> None:
        self._slots = [Slot(backend, number) for number in range(backend.slots)]
        self._turn = 0

    def acquire(self, document: str, ids: Sequence[int]) -> Slot:
        """The slot for a prompt `ids` of `document`, cut back to the longest prefix it can reuse.

        The last prompt id is never reused, since its logits are wanted: `len(slot.ids) < len(ids)`. Raises
        BackendError if the backend cannot cut.
        """
        slot, common = self._pick(document, ids)
        slot.reuse(common)
        self._turn += 1
        slot.document, slot.used = document, self._turn
        return slot

    def forget(self, document: str) -> None:
        """Give up the slots of a closed document; what they hold can still serve as a prefix."""
        for slot in self._slots:
            if slot.document == document:
                slot.document, slot.used = None, 0

    def _pick(self, document: str, ids: Sequence[int]) -> tuple[Slot, int]:
        """The document's own slot; else one that holds most of the prompt; else the least recently used."""
        common = {slot.number: common_prefix(slot.ids, ids, len(ids) - 1) for slot in self._slots}
        own = next((slot for slot in self._slots if slot.document == document), None)
        if own is None:
            best = max(self._slots, key=lambda slot: common[slot.number])
            own = best if 2 * common[best.number] > len(ids) else min(self._slots, key=lambda slot: slot.used)
        return own, common[own.number]


def common_prefix(mine: Sequence[int], theirs: Sequence[int], limit: int) -> int:
    """How many ids the two have in common from the start, at most `limit`."""
    return min(limit, common_length(mine, theirs))
