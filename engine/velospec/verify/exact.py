"""The numerics probe: under which settings does this build give the same logits for every batch shape?

A batch of one row may run other kernels than a batch of several, and a few rows others than many; in a
quantized model the difference flips one greedy choice in thirty. The probe opens the model under each
combination of KV type and flash attention and compares bits, never tolerances: row counts, prefill chunk
sizes, contexts on both sides of the sizes at which kernels are known to switch, a tail that was cut and
refilled, a neighbouring slot in use. Where no combination agrees it tries them again with the weights laid
out as in the file: llama.cpp has other kernels for K-quants then. It knows nothing of drafts; `min_rows` is
its advice to the backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from velospec.backends.base import Backend, Logits

SETTINGS: tuple[tuple[str, bool], ...] = (("bf16", True), ("f16", True), ("f16", False), ("bf16", False))
"""KV type and flash attention, in the order they are tried; the first is also what is used if none agree."""

# Attention is padded to 256 positions and may change its kernel at 512: rows here cross both.
_CONTEXTS = (40, 250, 505, 1100)
_ROW_COUNTS = (1, 2, 3, 5, 8, 13)  # compared at every context; all row counts at the first
_CHUNKS = (1, 2, 3, 7, 31)
_TAIL = 16  # ids refilled in small chunks at the longer contexts
_REFILLED = 505  # the context that is also filled from its start in other chunks
_REFILL_CHUNK = 149  # shares no boundary with the first filling
_WITNESSES = 4  # rows that tell whether a refilled cache holds the same numbers
_SEED = 20240229


@dataclass(frozen=True, slots=True)
class Numerics:
    """The setting to run a model with, and what was found about it on this build.

    `exact`: the output does not depend on drafts, their lengths or the chunking of the prompt, provided that
    no batch has fewer than `min_rows` rows. `reason` says in a sentence what was seen.
    """

    kv_type: str = "bf16"
    flash_attention: bool = True
    repack: bool = True  # whether weights are laid out anew for faster kernels
    exact: bool = False
    min_rows: int = 1
    row_counts: tuple[int, ...] = ()  # row counts found to agree
    contexts: tuple[int, ...] = ()  # context lengths at which they were compared
    reason: str = "not probed yet"

    @property
    def all_agree(self) -> bool:
        """Whether all row counts agree, one row alone included, by the fastest kernels there are."""
        return self.exact and self.min_rows == 1 and self.repack

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Numerics:
        """Rebuild what `to_dict` gave, also after a trip through JSON. Raises TypeError on unknown keys."""
        numerics = cls(**data)
        return replace(numerics, row_counts=tuple(numerics.row_counts), contexts=tuple(numerics.contexts))


class Configurable(Backend, Protocol):
    """A backend whose numbers depend on settings that can be changed while the model stays loaded."""

    @property
    def can_rollback(self) -> bool: ...

    @property
    def threads(self) -> int:
        """Most threads a batch runs on."""
        ...

    def length(self, slot: int) -> int:
        """Positions in the KV cache of `slot`."""
        ...

    def pin_threads(self, count: int | None) -> None:
        """Run on exactly `count` threads; None gives the choice back."""
        ...

    def configure(self, *, kv_type: str, flash_attention: bool, min_rows: int, repack: bool = True) -> None:
        """Reopen all slots, empty, under another setting."""
        ...


class _Differs(Exception):  # noqa: N818  (a finding, not an error)
    """Two batch shapes gave different logits."""


def probe(backend: Configurable, progress: Callable[[float], None] | None = None) -> Numerics:
    """Find the setting to use and leave `backend` configured with it, all slots empty.

    `progress` is told fractions from 0 to 1. Takes a few hundred decodes where the first setting agrees.

    Raises:
        BackendError: a decode failed, or a rollback was refused.
    """
    report = progress or (lambda _fraction: None)
    numerics = _search(backend, report) if backend.can_rollback else _without_rollback()
    _configure(backend, numerics)
    report(1.0)
    return numerics


def _search(backend: Configurable, report: Callable[[float], None]) -> Numerics:
    first_difference = ""
    for candidate in _candidates():
        _configure(backend, candidate)
        comparison = _Comparison(backend)
        try:
            comparison.run(report)
        except _Differs as difference:
            first_difference = first_difference or str(difference)
            continue
        return replace(
            candidate,
            exact=True,
            row_counts=tuple(range(candidate.min_rows, backend.max_rows + 1)),
            contexts=comparison.contexts,
        )
    return Numerics(*SETTINGS[0], reason=f"no setting agrees: {first_difference}")


def _candidates() -> Iterator[Numerics]:
    """What is tried, in order: a second row in each batch costs more than weights as the file has them."""
    for min_rows, repack in ((1, True), (1, False), (2, True), (2, False)):
        agreeing = "all row counts" if min_rows == 1 else "all row counts but one row alone"
        layout = "" if repack else ", with weights laid out as in the file"
        for kv_type, flash_attention in SETTINGS:
            reason = f"{agreeing} agree{layout}"
            yield Numerics(kv_type, flash_attention, repack, min_rows=min_rows, reason=reason)


def _configure(backend: Configurable, numerics: Numerics) -> None:
    backend.configure(
        kv_type=numerics.kv_type,
        flash_attention=numerics.flash_attention,
        min_rows=numerics.min_rows,
        repack=numerics.repack,
    )


def _without_rollback() -> Numerics:
    return Numerics(*SETTINGS[0], reason="this model cannot roll back, so it decodes plainly")


class _Comparison:
    """One setting put to the test. Slot 0 grows through the contexts; `reference` is what all must equal."""

    def __init__(self, backend: Configurable) -> None:
        self.backend = backend
        self.rows = backend.max_rows
        room = backend.context - self.rows
        self.contexts = tuple(length for length in _CONTEXTS if length <= room) or (max(1, room),)
        generator = np.random.default_rng(_SEED)
        plain = np.setdiff1d(np.arange(backend.vocabulary.size), sorted(backend.vocabulary.control_ids))
        self.ids: list[int] = generator.choice(plain, self.contexts[-1] + self.rows).tolist()

    def run(self, report: Callable[[float], None]) -> None:
        """Raise _Differs at the first difference."""
        for index, context in enumerate(self.contexts):
            self._fill_to(context)
            reference = self._score(context, self.rows).copy()
            self._compare_row_counts(context, reference)
            self._compare_chunks(context, reference)
            self._compare_threads(context, reference)
            report((index + 1) / (len(self.contexts) + 1))
        self._compare_neighbour(self.contexts[0])

    def _compare_row_counts(self, context: int, reference: Logits) -> None:
        least, first = self.backend.min_rows, context == self.contexts[0]
        counts = range(least, self.rows) if first else [k for k in _ROW_COUNTS if least <= k < self.rows]
        for rows in counts:
            self._expect(self._score(context, rows), reference, f"row counts {rows} and {self.rows}", context)
        for row in range(self.rows if first else self.rows // 2):  # one by one, as plain decoding does
            logits = self.backend.decode(0, self.ids[context + row : context + row + 1], context + row)
            self._expect(logits, reference[row:], f"row {row} alone against {self.rows} rows", context)
        self.backend.truncate(0, context)

    def _compare_chunks(self, context: int, reference: Logits) -> None:
        """Cut the tail (the shortest context whole) and refill it in small chunks."""
        start = 0 if context == self.contexts[0] else context - _TAIL
        for chunk in _CHUNKS:
            self._refill(start, context, chunk, reference)
        if context == _REFILLED:
            self._refill(0, context, _REFILL_CHUNK, reference)

    def _compare_threads(self, context: int, reference: Logits) -> None:
        """A backend may change its number of threads between any two batches."""
        for threads in {1, self.backend.threads}:
            self.backend.pin_threads(threads)
            try:
                self._refill(context - min(_TAIL, context), context, _TAIL, reference)
                logits = self._score(context, self.backend.min_rows)
            finally:
                self.backend.pin_threads(None)
            self._expect(logits, reference, f"{threads} threads", context)

    def _refill(self, start: int, context: int, chunk: int, reference: Logits) -> None:
        self.backend.truncate(0, start)
        self._fill_to(context, chunk)
        witnesses = min(_WITNESSES, self.rows)
        self._expect(self._score(context, witnesses), reference, f"chunks of {chunk}", context)

    def _compare_neighbour(self, context: int) -> None:
        """The same context in another slot, beside the filled slot 0."""
        if self.backend.slots < 2:
            return
        self.backend.truncate(0, context)
        self._fill_to(context)  # a running state may have gone back further
        reference = self._score(context, self.rows).copy()
        self.backend.prefill(1, self.ids[:context], 0)
        logits = self.backend.decode(1, self.ids[context : context + self.rows], context)
        self._expect(logits, reference, "slot 1 against slot 0", context)

    def _fill_to(self, length: int, chunk: int | None = None) -> None:
        """Extend slot 0 to `length` ids, by `chunk` ids a call (the backend cuts further)."""
        have = self.backend.length(0)
        for part in _parts(self.ids[have:length], chunk or length):
            self.backend.prefill(0, part, have)
            have += len(part)

    def _score(self, context: int, rows: int) -> Logits:
        """Logits of the `rows` ids after `context`; slot 0 is left at `context`. A view."""
        logits = self.backend.decode(0, self.ids[context : context + rows], context)
        self.backend.truncate(0, context)
        return logits

    def _expect(self, logits: Logits, reference: Logits, what: str, context: int) -> None:
        expected = reference[: len(logits)]
        if not np.array_equal(logits.view(np.uint32), expected.view(np.uint32)):
            change = float(np.abs(logits - expected).max())
            raise _Differs(f"{what} at {context} tokens of context differ by up to {change:.3g} in a logit")


def _parts(ids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
