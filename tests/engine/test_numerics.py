"""The numerics probe: what it finds on backends with known flaws, and on the real model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions
from velospec.models.store import InstalledModel
from velospec.verify.exact import SETTINGS, Numerics, _Comparison, _Differs, probe


@dataclass(frozen=True)
class Batch:
    """One batch as a flaw sees it."""

    kv_type: str
    flash_attention: bool
    rows: int
    position: int
    slot: int
    threads: int
    scored: bool
    refilled: bool  # positions at or after this batch's were in the cache before
    repack: bool


Flaw = Callable[[Batch], bool]


@dataclass
class Vocabulary:
    size: int = 64
    control_ids: frozenset[int] = frozenset({0, 1})


@dataclass
class FlawedBackend:
    """Logits and KV entries are sums over the ids so far, off by a little in batches that a flaw picks."""

    flaw: Flaw
    can_rollback: bool = True
    context: int = 1200
    slots: int = 2
    max_rows: int = 16
    min_rows: int = 1
    threads: int = 2
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    setting: tuple[str, bool] = SETTINGS[0]
    repack: bool = True

    def __post_init__(self) -> None:
        self.configure(kv_type="bf16", flash_attention=True, min_rows=1)

    def configure(self, *, kv_type: str, flash_attention: bool, min_rows: int, repack: bool = True) -> None:
        self.setting, self.min_rows, self.repack = (kv_type, flash_attention), min_rows, repack
        self._cache: list[list[float]] = [[] for _ in range(self.slots)]
        self._longest = [0] * self.slots
        self._pinned: int | None = None

    def pin_threads(self, count: int | None) -> None:
        self._pinned = count

    def length(self, slot: int) -> int:
        return len(self._cache[slot])

    def truncate(self, slot: int, length: int) -> None:
        del self._cache[slot][length:]

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        start = 0
        while start < len(ids):  # chunks of at most 256, the last never below min_rows
            end = min(start + 256, len(ids))
            end -= self.min_rows - 1 if len(ids) - end == 1 else 0
            self._run(slot, ids[start:end], position + start, scored=False)
            start = end

    def decode(self, slot: int, ids: Sequence[int], position: int) -> np.ndarray:
        self._run(slot, ids, position, scored=True)
        values = np.array(self._cache[slot][position:], np.float32)
        return np.repeat(values[:, None], self.vocabulary.size, axis=1)

    def _run(self, slot: int, ids: Sequence[int], position: int, *, scored: bool) -> None:
        cache = self._cache[slot]
        assert position == len(cache)
        assert position + len(ids) <= self.context
        rows = max(len(ids), self.min_rows)
        refilled = position < self._longest[slot]
        threads = self._pinned or self.threads
        batch = Batch(*self.setting, rows, position, slot, threads, scored, refilled, self.repack)
        off = 2.0**-10 if self.flaw(batch) else 0.0
        for token in ids:
            cache.append((cache[-1] if cache else 0.0) / 2 + token + off)
        self._longest[slot] = max(self._longest[slot], len(cache))


def found(flaw: Flaw, **options: Any) -> tuple[Numerics, FlawedBackend]:
    backend = FlawedBackend(flaw, **options)
    return probe(backend), backend  # type: ignore[arg-type]  # only what the probe uses


def test_a_backend_without_flaws_keeps_the_first_setting() -> None:
    fractions: list[float] = []
    backend = FlawedBackend(lambda _batch: False)
    numerics = probe(backend, fractions.append)  # type: ignore[arg-type]  # only what the probe uses
    assert numerics == Numerics(
        kv_type="bf16",
        flash_attention=True,
        exact=True,
        min_rows=1,
        row_counts=tuple(range(1, 17)),
        contexts=(40, 250, 505, 1100),
        reason="all row counts agree",
    )
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert (backend.length(0), backend.length(1)) == (0, 0)


@pytest.mark.parametrize(
    "flaw",
    [
        pytest.param(lambda b: b.rows == 1, id="a row alone"),
        pytest.param(lambda b: b.rows == 11, id="one odd row count"),
        pytest.param(lambda b: b.rows == 1 and b.scored and b.position > 512, id="a row alone, far in"),
        pytest.param(lambda b: not b.scored and b.rows == 7, id="one chunk size"),
        pytest.param(lambda b: b.refilled and not b.scored, id="refilled positions"),
        pytest.param(lambda b: not b.scored and b.rows >= 200, id="large chunks"),
        pytest.param(lambda b: b.slot == 1, id="the second slot"),
        pytest.param(lambda b: b.threads == 1, id="one thread"),
    ],
)
def test_a_flaw_of_one_setting_is_seen_and_the_next_setting_taken(flaw: Flaw) -> None:
    numerics, backend = found(lambda batch: batch.kv_type == "bf16" and flaw(batch))
    assert (numerics.kv_type, numerics.flash_attention, numerics.exact) == ("f16", True, True)
    assert numerics.min_rows == 1
    assert backend.setting == ("f16", True)


def test_where_a_row_alone_differs_everywhere_two_rows_are_the_least() -> None:
    numerics, backend = found(lambda batch: batch.rows == 1)
    assert (numerics.exact, numerics.min_rows) == (True, 2)
    assert numerics.row_counts == tuple(range(2, 17))
    assert (backend.setting, backend.min_rows) == (SETTINGS[0], 2)


def test_weights_as_in_the_file_are_tried_before_a_second_row() -> None:
    numerics, backend = found(lambda batch: batch.repack and batch.rows < 4)
    assert (numerics.exact, numerics.min_rows, numerics.repack) == (True, 1, False)
    assert not numerics.all_agree  # fast mode has faster kernels
    assert numerics.reason == "all row counts agree, with weights laid out as in the file"
    assert (backend.setting, backend.repack) == (SETTINGS[0], False)


def test_where_nothing_agrees_the_reason_says_what_differed() -> None:
    numerics, backend = found(lambda batch: batch.rows in (1, 5))
    assert not numerics.exact
    assert numerics.reason.startswith("no setting agrees: row counts 1 and 16 at 40 tokens of context")
    assert (backend.setting, backend.min_rows) == (SETTINGS[0], 1)


def test_a_model_that_cannot_roll_back_is_not_probed() -> None:
    numerics, _ = found(lambda _batch: pytest.fail("decoded"), can_rollback=False)
    assert not numerics.exact
    assert "cannot roll back" in numerics.reason


def test_a_small_context_is_probed_as_far_as_it_goes() -> None:
    numerics, _ = found(lambda _batch: False, context=300, slots=1)
    assert numerics.contexts == (40, 250)
    tiny, _ = found(lambda _batch: False, context=30, slots=1)
    assert tiny.contexts == (14,)


def test_numerics_survive_json() -> None:
    numerics, _ = found(lambda _batch: False)
    assert Numerics.from_dict(json.loads(json.dumps(numerics.to_dict()))) == numerics


@pytest.mark.model
def test_the_default_model_has_an_exact_setting_and_the_probe_can_tell(default_model: InstalledModel) -> None:
    backend = LlamaBackend(default_model.path, LlamaOptions(context=540, slots=2, max_rows=8))
    try:
        numerics = probe(backend)
        assert numerics.exact, numerics.reason
        assert numerics.contexts == (40, 250, 505)
        assert numerics.row_counts == tuple(range(numerics.min_rows, 9))
        assert backend.options.kv_type == numerics.kv_type
        assert backend.options.flash_attention == numerics.flash_attention
        assert backend.min_rows == numerics.min_rows
        # The same comparison finds the flaw that makes the probe necessary: without flash attention a row
        # alone takes another path through the attention than several do.
        backend.configure(kv_type="f16", flash_attention=False, min_rows=1)
        with pytest.raises(_Differs, match="row"):
            _Comparison(backend).run(lambda _fraction: None)
    finally:
        backend.close()
