"""grammar_masked_argmax on numpy, a row at a time.

A row is read as little as its mask lets: without a mask, one argmax and one maximum; with few allowed words,
only their logits; else the row with the forbidden ids blanked out.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from velospec_kernels import bitmask

if TYPE_CHECKING:
    from velospec_kernels._contract import Words
    from velospec_kernels.grammar_masked_argmax import CpuArgmax

_NOTHING = np.float32(-np.inf)
# With a larger share of mask words in use than this, blanking out a row is faster than gathering from it.
_SPARSE = 1 / 16
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
# What the 8 logits under each mask byte may reach at most. A minimum with it blanks out what is forbidden,
# in half the time of np.where with the bits unpacked.
_CEILINGS = np.where(_BITS, np.float32(np.inf), _NOTHING)

Values = npt.NDArray[np.float32]


class _Scratch(threading.local):
    """One buffer per thread, kept: a fresh one this large costs a page fault for every 1,024 logits."""

    def __init__(self) -> None:
        self.buffer = np.empty((0, 8), np.float32)

    def of(self, mask_bytes: int) -> Values:
        """A buffer [mask_bytes, 8] of anything."""
        if len(self.buffer) < mask_bytes:
            self.buffer = np.empty((mask_bytes, 8), np.float32)
        return self.buffer[:mask_bytes]


_SCRATCH = _Scratch()


class _Best(NamedTuple):
    at: int  # which of the values looked at; -1 if there is none
    top1: np.float32
    top2: np.float32


def run(
    logits: Values,  # [rows, vocabulary]
    mask: Words | None,  # int32 or uint32 [rows, words]
    out: CpuArgmax,
) -> None:
    """Write the choice, the two best values and the allowed count of each row to `out`."""
    for row, values in enumerate(logits):
        if mask is None:
            best, count = _best(values), values.size
        else:
            best, count = _best_allowed(values, mask[row])
        out.ids[row], out.top1[row], out.top2[row] = best
        out.counts[row] = count


def _best_allowed(
    values: Values,  # [vocabulary]
    words: Words,  # [words]
) -> tuple[_Best, int]:
    used = np.flatnonzero(words)
    if used.size <= words.size * _SPARSE:
        bits = _ids_of(bitmask.bytes_of(words[used]), used.size * 32)
        ids = (used[bits >> 5] << 5) + (bits & 31)
        ids = ids[: np.searchsorted(ids, values.size)]
        return _best_of(values, ids), ids.size
    used_bytes = bitmask.bytes_of(words)[: (values.size + 7) // 8]
    ceilings = _SCRATCH.of(used_bytes.size)
    _CEILINGS.take(
        used_bytes, axis=0, out=ceilings, mode="clip"
    )  # no byte is out of range; "raise" copies twice
    blanked = ceilings.reshape(-1)[: values.size]
    best = _best(np.minimum(blanked, values, out=blanked))
    if best.top1 == _NOTHING:  # the best is an allowed -inf, or nothing: forbidden and allowed look alike
        best = _best_of(values, _ids_of(used_bytes, values.size))
    return best, int(np.bitwise_count(used_bytes).sum()) - _beyond(used_bytes[-1], values.size)


def _ids_of(
    mask_bytes: npt.NDArray[np.uint8],  # [n]
    vocabulary: int,
) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.unpackbits(mask_bytes, count=vocabulary, bitorder="little"))


def _beyond(last: np.uint8, vocabulary: int) -> int:
    """How many bits of a row's last mask byte lie past the vocabulary, and are set."""
    return (int(last) >> (vocabulary % 8)).bit_count() if vocabulary % 8 else 0


def _best_of(
    values: Values,  # [vocabulary]
    ids: npt.NDArray[np.intp],  # [n], ascending
) -> _Best:
    best = _best(values[ids])
    return best._replace(at=int(ids[best.at])) if best.at >= 0 else best


def _best(values: Values) -> _Best:
    if not values.size:
        return _Best(-1, _NOTHING, _NOTHING)
    index = int(values.argmax())  # the first NaN, if there is one
    top1 = values[index]
    if np.isnan(top1):
        return _best_of(values, np.flatnonzero(~np.isnan(values)))
    before = values[:index].max(initial=_NOTHING)
    after = values[index + 1 :].max(initial=_NOTHING)
    return _Best(index, top1, max(before, after))
