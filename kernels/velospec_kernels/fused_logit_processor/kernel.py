"""The Triton source. A program looks at a block of ids of one row; a row's last program reduces the row.

Values become keys, signed integers in the order of the floats, so that the least of them can mean "nobody":
below the key of -inf. The ticket of a row goes back to zero, ready for the next launch. Annotations are of
Triton's own types, since it compiles them with the rest.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

INTERPRETED: bool = triton.knobs.runtime.interpret
"""Whether kernels run in Triton's interpreter; settled when Triton's functions are made."""

_NOBODY = tl.constexpr(-(2**31))
_NO_ID = tl.constexpr(2**31 - 1)


def _key_of(values: tl.tensor, counts: tl.tensor) -> tl.tensor:
    bits = tl.where(values == 0, 0.0, values).to(tl.int32, bitcast=True)  # -0.0 is the equal of 0.0
    return tl.where(counts, tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits), _NOBODY)


def _value_of(key: tl.tensor) -> tl.tensor:
    value = tl.where(key < 0, key ^ 0x7FFFFFFF, key).to(tl.float32, bitcast=True)
    return tl.where(key == _NOBODY, float("-inf"), value)


key_of = triton.jit(_key_of)
value_of = triton.jit(_value_of)


def _process(  # noqa: PLR0913, PLR0917 - a kernel takes its memory place by place
    logits: tl.tensor,
    logits_stride: tl.tensor,
    mask: tl.tensor,
    mask_stride: tl.tensor,
    vocabulary: tl.tensor,
    tickets: tl.tensor,
    parts: tl.tensor,
    ids: tl.tensor,
    top1: tl.tensor,
    top2: tl.tensor,
    counts: tl.tensor,
    MASKED: tl.constexpr,  # noqa: N803 - Triton's convention for what is known when it compiles
    BLOCK: tl.constexpr,  # noqa: N803 - as above
    PARTS: tl.constexpr,  # noqa: N803 - as above
) -> None:
    part = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    programs = tl.num_programs(0)
    places = part * BLOCK + tl.arange(0, BLOCK)
    allowed = places < vocabulary
    if MASKED:
        words = tl.load(mask + row * mask_stride + places // 32, mask=allowed, other=0)
        allowed = allowed & ((words >> (places % 32)) & 1 != 0)
    values = tl.load(logits + row * logits_stride + places, mask=allowed, other=0).to(tl.float32)
    key = key_of(values, allowed & (values == values))  # noqa: PLR0124 - NaN is what does not equal itself
    best = tl.max(key, axis=0)
    best_id = tl.min(tl.where((key == best) & (key != _NOBODY), places, _NO_ID), axis=0)
    second = tl.max(tl.where(places == best_id, _NOBODY, key), axis=0)
    count = tl.sum(allowed.to(tl.int32), axis=0)

    mine = parts + (row * programs + part) * 4
    tl.store(mine, best)
    tl.store(mine + 1, best_id)
    tl.store(mine + 2, second)
    tl.store(mine + 3, count)
    tl.debug_barrier()  # what all threads stored comes before the ticket
    if tl.atomic_add(tickets + row, 1, sem="acq_rel") == programs - 1:
        place = tl.arange(0, PARTS)
        there = place < programs
        theirs = parts + (row * programs + place) * 4
        keys = tl.load(theirs, mask=there, other=_NOBODY, cache_modifier=".cg")
        best_ids = tl.load(theirs + 1, mask=there, other=_NO_ID, cache_modifier=".cg")
        seconds = tl.load(theirs + 2, mask=there, other=_NOBODY, cache_modifier=".cg")
        found = tl.load(theirs + 3, mask=there, other=0, cache_modifier=".cg")
        top = tl.max(keys, axis=0)
        top_id = tl.min(tl.where(keys == top, best_ids, _NO_ID), axis=0)
        next_top = tl.max(tl.where(best_ids == top_id, seconds, keys), axis=0)
        tl.store(ids + row, tl.where(top == _NOBODY, -1, top_id))
        tl.store(top1 + row, value_of(top))
        tl.store(top2 + row, value_of(next_top))
        tl.store(counts + row, tl.sum(found, axis=0))
        tl.store(tickets + row, 0)


process = triton.jit(_process)


def launch(
    logits: Any,  # [rows, vocabulary]
    mask: Any,  # [rows, words], or None
    out: tuple[Any, Any, Any, Any],  # ids, top1, top2 and counts, each [rows]
    workspace: Any,  # int32, zero at first
    block: int,
) -> None:
    """Put one launch on torch's current stream."""
    rows, vocabulary = logits.shape
    programs = triton.cdiv(vocabulary, block)
    process[(programs, rows)](
        logits,
        logits.stride(0),
        mask if mask is not None else logits,
        mask.stride(0) if mask is not None else 0,
        vocabulary,
        workspace,
        workspace[rows:],
        *out,
        MASKED=mask is not None,
        BLOCK=block,
        PARTS=triton.next_power_of_2(programs),
        num_warps=8,
    )
