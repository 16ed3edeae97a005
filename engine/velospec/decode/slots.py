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

_MANY = 3  # slots: with fewer, a second one would be taken from the only other document
_DEAR = 64  # ids of a prompt that are not to be read again because of what was only done ahead


@dataclass(slots=True)
class Slot:
    """One KV sequence and the ids in it."""

    backend: Backend
    number: int
    document: str | None = None
    ids: list[int] = field(default_factory=list)
    used: int = 0  # the turn of its last request; 0 means never
    prompt: int = 0  # ids of that request's prompt
    spare: bool = False  # holds what is done ahead for a document that has another slot

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

    def acquire(self, document: str, ids: Sequence[int], *, background: bool = False) -> Slot:
        """The slot for a prompt `ids` of `document`, cut back to the longest prefix it can reuse.

        The last prompt id is never reused, since its logits are wanted: `len(slot.ids) < len(ids)`. A request
        in the `background` takes a second slot where the document's own would lose much of its prompt, which
        the next key may want. Raises BackendError if the backend cannot cut.
        """
        mine = [slot for slot in self._slots if slot.document == document]
        slot = self._own(mine, ids, background=background) if mine else self._new(ids)
        slot.reuse(self._common(slot, ids))
        self._turn += 1
        slot.document, slot.used, slot.prompt = document, self._turn, len(ids)
        if not background:
            for other in mine:
                other.spare = True
            slot.spare = False
        return slot

    def forget(self, document: str) -> None:
        """Give up the slots of a closed document; what they hold can still serve as a prefix."""
        for slot in self._slots:
            if slot.document == document:
                slot.document, slot.used, slot.spare = None, 0, False

    def _own(self, mine: Sequence[Slot], ids: Sequence[int], *, background: bool) -> Slot:
        """Of a document's slots the one that holds most of the prompt, or a spare one."""
        best = max(mine, key=lambda slot: self._common(slot, ids))
        lost = best.prompt - self._common(best, ids)
        if not background or best.spare or lost <= _DEAR or len(self._slots) < _MANY:
            return best
        spare = next((slot for slot in mine if slot.spare), None) or self._oldest(mine)
        spare.spare = True
        return spare

    def _new(self, ids: Sequence[int]) -> Slot:
        """A slot that holds most of the prompt; else one that is missed least."""
        best = max(self._slots, key=lambda slot: self._common(slot, ids))
        slot = best if 2 * self._common(best, ids) > len(ids) else self._oldest(())
        slot.spare = False
        return slot

    def _oldest(self, but: Sequence[Slot]) -> Slot:
        """The least recently used slot that is not in `but`; spare ones before others."""
        return min(
            (slot for slot in self._slots if slot not in but), key=lambda slot: (not slot.spare, slot.used)
        )

    def _common(self, slot: Slot, ids: Sequence[int]) -> int:
        return common_prefix(slot.ids, ids, len(ids) - 1)


def common_prefix(mine: Sequence[int], theirs: Sequence[int], limit: int) -> int:
    """How many ids the two have in common from the start, at most `limit`."""
    return min(limit, common_length(mine, theirs))
