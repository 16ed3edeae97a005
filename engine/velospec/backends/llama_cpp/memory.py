"""What llama.cpp holds for each slot, and how the end of it is taken back. Knows positions, not ids.

An attention cache gives up any number of positions. A recurrent or hybrid model has a running state besides,
and two things undo that: the library's snapshots of it after each of the last rows of the last batch, and
copies of it that are made here at the end of each prefill. llama.cpp's own check does not suffice: it agrees
to take back all rows of a batch, up to a snapshot that was never written, and goes on with wrong numbers. So
it is counted here how far the snapshots reach, and the library is never asked for more.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from velospec.backends.llama_cpp.library import Handle
from velospec.backends.llama_cpp.native import lib
from velospec.core.errors import BackendError

CHECKPOINTS = 3
"""Copies of the state that are kept for each slot."""

_PARTIAL = lib.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY  # the running state alone, without the attention cache


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """The running state after the first `length` positions."""

    length: int
    state: np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(slots=True)
class _Slot:
    length: int = 0  # positions that count
    held: int = 0  # positions in llama.cpp; those from `length` on are removed before the next batch
    undoable: int = 0  # how many of `held` the snapshots can take back
    checkpoints: list[_Checkpoint] = field(default_factory=list)  # by length


class SlotMemory:
    """The memory of one context. `stateful`: its model is recurrent or hybrid."""

    def __init__(self, context: Handle, slots: int, *, stateful: bool) -> None:
        self._context = context
        self._memory = lib.llama_get_memory(context)
        self._stateful = stateful
        self._slots = [_Slot() for _ in range(slots)]
        self.snapshots: int = lib.llama_n_rs_seq(context)

    @property
    def can_rollback(self) -> bool:
        """Whether all rows of a batch but its first can be taken back, up to `snapshots` of them."""
        return not self._stateful or self.snapshots > 0

    def length(self, number: int) -> int:
        """Positions of slot `number` that count."""
        return self._slots[number].length

    def extend(self, number: int, rows: int) -> None:
        """Count the rows of a batch that was decoded."""
        slot = self._slots[number]
        slot.length += rows
        slot.held = slot.length
        slot.undoable = min(rows - 1, self.snapshots)

    def truncate(self, number: int, length: int) -> int:
        """Cut back to `length` positions, or to the longest checkpoint below; returns how many are left.

        Raises BackendError if llama.cpp refuses.
        """
        slot = self._slots[number]
        if length >= slot.length:
            return slot.length
        if not self._stateful or length == 0:
            self._keep(slot, length)
            self.settle(number)
        elif slot.held - length <= slot.undoable:
            # Not removed yet: between two batches llama.cpp takes back once, and more may follow.
            self._keep(slot, length)
        else:
            self._restore(number, length)
        return slot.length

    def settle(self, number: int) -> None:
        """Remove what was cut off, as must be done before a batch. Raises BackendError if refused."""
        slot = self._slots[number]
        if slot.held > slot.length:
            self._remove(number, slot.length)
            slot.held, slot.undoable = slot.length, 0

    def recover(self, number: int) -> None:
        """After a batch that failed half-way: go back to the length before it, or to a checkpoint below."""
        slot = self._slots[number]
        if self._stateful:
            self._restore(number, slot.length)
        else:
            self._remove(number, slot.length)

    def save(self, number: int) -> None:
        """Keep a checkpoint of a stateful model. Raises BackendError if llama.cpp gives no copy."""
        slot = self._slots[number]
        if not self._stateful or any(kept.length == slot.length for kept in slot.checkpoints):
            return
        self.settle(number)
        state = np.empty(self.sizes(number)[1], np.uint8)
        if lib.llama_state_seq_get_data_ext(self._context, _bytes(state), state.size, number, _PARTIAL) == 0:
            raise BackendError(
                "llama.cpp gave no copy of the model's running state.",
                "Restart the daemon with: velospec daemon stop",
            )
        slot.checkpoints.append(_Checkpoint(slot.length, state))
        if len(slot.checkpoints) > CHECKPOINTS:
            del slot.checkpoints[_least_useful([kept.length for kept in slot.checkpoints])]

    def sizes(self, number: int) -> tuple[int, int]:
        """Bytes that slot `number` holds now: of positions, and of the running state (0 if it has none)."""
        everything = lib.llama_state_seq_get_size_ext(self._context, number, 0)
        state = lib.llama_state_seq_get_size_ext(self._context, number, _PARTIAL) if self._stateful else 0
        return everything - state, state

    @staticmethod
    def _keep(slot: _Slot, length: int) -> None:
        slot.length = length
        slot.checkpoints = [kept for kept in slot.checkpoints if kept.length <= length]

    def _restore(self, number: int, length: int) -> None:
        """Go back to the longest checkpoint of at most `length` positions; to nothing where there is none."""
        slot = self._slots[number]
        self._keep(slot, length)
        while slot.checkpoints:
            kept = slot.checkpoints[-1]
            data = _bytes(kept.state)
            if lib.llama_state_seq_set_data_ext(self._context, data, kept.state.size, number, _PARTIAL):
                break
            slot.checkpoints.pop()
        slot.length = slot.checkpoints[-1].length if slot.checkpoints else 0
        self._remove(number, slot.length)
        slot.held, slot.undoable = slot.length, 0

    def _remove(self, number: int, length: int) -> None:
        """Drop the positions from `length` on, and make sure that what is left is whole."""
        removed = lib.llama_memory_seq_rm(self._memory, number, length, -1)
        last = lib.llama_memory_seq_pos_max(self._memory, number)
        first = lib.llama_memory_seq_pos_min(self._memory, number) if length else 0
        whole = last == length - 1 and (self._stateful or first <= 0)  # a state has only its last position
        if not (removed and whole):
            raise BackendError(
                f"The model's cache cannot be cut back to {length} tokens.",
                "Speculation is not possible with this model; choose another one.",
            )


def _least_useful(lengths: list[int]) -> int:
    """Index of the checkpoint, the newest excepted, without which the least is to be read again.

    A prompt that parts from the slot's ids between a checkpoint and the next would have to be read from the
    one before it. Prompts part near the end: the chance is taken to fall with the distance from there.
    """
    end = lengths[-1]

    def loss(index: int) -> float:
        before = lengths[index - 1] if index else 0
        return (lengths[index] - before) * (lengths[index + 1] - lengths[index]) / (end - lengths[index])

    return min(range(len(lengths) - 1), key=loss)


def _bytes(state: np.ndarray[Any, np.dtype[np.uint8]]) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
