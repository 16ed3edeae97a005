"""What goes into a native decode: the rows of a batch, and the flag that stops it. Memory allocated once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from velospec.backends.llama_cpp.library import Handle
from velospec.backends.llama_cpp.native import lib


class Batch:
    """The arrays of a llama_batch, allocated once and filled in place."""

    def __init__(self, rows: int) -> None:
        self._tokens = np.zeros(rows, np.int32)
        self._positions = np.zeros(rows, np.int32)
        self._steps = np.arange(rows, dtype=np.int32)
        self._sequence = (ctypes.c_int32 * 1)()
        self._counts = np.ones(rows, np.int32)
        pointer = ctypes.POINTER(ctypes.c_int32)
        self._sequences = (pointer * rows)(*[ctypes.cast(self._sequence, pointer)] * rows)
        self._scored_rows, self._silent_rows = np.ones(rows, np.int8), np.zeros(rows, np.int8)
        self._scored, self._silent = self._struct(self._scored_rows), self._struct(self._silent_rows)

    def _struct(self, outputs: np.ndarray[Any, np.dtype[np.int8]]) -> Handle:
        batch = lib.llama_batch()
        batch.token = self._tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        batch.pos = self._positions.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        batch.n_seq_id = self._counts.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        batch.seq_id = self._sequences
        batch.logits = outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_int8))
        return batch

    def fill(self, slot: int, ids: Sequence[int], position: int, *, scored: bool) -> Handle:
        """The llama_batch of `ids` in `slot` from `position` on, with logits for all rows or for none."""
        rows = len(ids)
        self._tokens[:rows] = ids
        np.add(self._steps[:rows], position, out=self._positions[:rows])
        self._sequence[0] = slot
        batch = self._scored if scored else self._silent
        batch.n_tokens = rows
        return batch


class AbortFlag:
    """A byte that llama.cpp's abort callback reads, before each node of the graph.

    A Python callback would take the interpreter's lock a thousand times per decode. The C library's `strlen`
    over a two-byte buffer does the same with no Python at all: it answers 0 (go on) or 1 (stop).
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        function = ctypes.CDLL(None).strlen
        self._callback = ctypes.cast(function, lib.ggml_abort_callback)

    def attach(self, context: Handle) -> None:
        """Let `context` read the flag; this object must outlive it."""
        lib.llama_set_abort_callback(context, self._callback, ctypes.cast(self._text, ctypes.c_void_p))

    def set(self) -> None:
        self._text[0] = b"\x01"

    def clear(self) -> None:
        self._text[0] = b"\x00"
