"""Models with a running state, on small models of random weights: what is taken back leaves no trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.hybrid_models import QWEN35_TOKENS, write_mamba, write_qwen35
from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions
from velospec.backends.llama_cpp.memory import CHECKPOINTS, _least_useful
from velospec.core.errors import BackendError, CancelledError
from velospec.verify.exact import probe

OPTIONS = LlamaOptions(context=640, slots=2, batch=64, threads=2)
IDS: list[int] = np.random.default_rng(1).integers(0, 256, 640).tolist()
WRONG = [7] * 16


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaBackend]:
    backend = LlamaBackend(write_qwen35(tmp_path_factory.mktemp("hybrid") / "hybrid.gguf"), OPTIONS)
    yield backend
    backend.close()


@pytest.fixture
def backend(opened: LlamaBackend) -> LlamaBackend:
    opened.configure(kv_type="bf16", flash_attention=True, min_rows=1)
    return opened


def singles(backend: LlamaBackend, start: int, count: int = 6) -> np.ndarray:
    """The logits of `count` of `IDS` from `start` on, each scored alone."""
    rows = [backend.decode(0, [IDS[position]], position).copy() for position in range(start, start + count)]
    return np.concatenate(rows)


@pytest.fixture(scope="module")
def expected(opened: LlamaBackend) -> np.ndarray:
    """[i]: the logits after `IDS[: i + 1]`, each id scored alone and nothing ever taken back."""
    opened.configure(kv_type="bf16", flash_attention=True, min_rows=1)
    return singles(opened, 0, 160)


def assert_goes_on(backend: LlamaBackend, expected: np.ndarray, slot: int = 0) -> None:
    """The slot holds the first of `IDS`, and what follows comes out as if nothing else had been."""
    start = backend.length(slot)
    rows = backend.decode(slot, IDS[start : start + 6], start)
    assert np.array_equal(rows, expected[start : start + 6])


def test_a_hybrid_takes_back_all_rows_but_the_first(backend: LlamaBackend) -> None:
    assert backend.can_rollback
    assert backend.max_rows == OPTIONS.snapshots + 1 == 8


@pytest.mark.parametrize("rows", [2, 3, 5, 8])
def test_rejected_rows_leave_no_trace(backend: LlamaBackend, expected: np.ndarray, rows: int) -> None:
    for kept in range(1, rows + 1):
        backend.truncate(0, 0)
        backend.prefill(0, IDS[:40], 0)
        logits = backend.decode(0, [*IDS[40 : 40 + kept], *WRONG[: rows - kept]], 40)
        assert np.array_equal(logits[:kept], expected[40 : 40 + kept])
        assert backend.truncate(0, 40 + kept) == backend.length(0) == 40 + kept
        assert_goes_on(backend, expected)


def test_rows_are_taken_back_twice_between_two_batches(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    backend.decode(0, IDS[40:48], 40)
    assert [backend.truncate(0, length) for length in (46, 43, 41)] == [46, 43, 41]
    assert_goes_on(backend, expected)


def test_a_whole_batch_goes_back_to_the_last_prefill(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    for _ in range(3):
        backend.decode(0, WRONG[:5], 40)
        assert backend.truncate(0, 40) == 40
    assert_goes_on(backend, expected)


def test_snapshots_reach_no_further_than_the_last_batch(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    backend.decode(0, IDS[40:48], 40)
    backend.decode(0, WRONG[:1], 48)
    backend.decode(0, WRONG[:2], 49)
    assert backend.truncate(0, 48) == 40  # seven snapshots, but only one of them is of this batch
    assert_goes_on(backend, expected)


def test_a_padded_row_is_taken_back_and_cannot_be_again(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.configure(kv_type="bf16", flash_attention=True, min_rows=2)
    backend.prefill(0, IDS[:41], 0)
    for position in range(41, 46):
        row = backend.decode(0, IDS[position : position + 1], position)
        assert np.array_equal(row[0], expected[position])
    assert backend.truncate(0, 45) == 41
    assert_goes_on(backend, expected)


def test_a_cut_goes_back_to_a_checkpoint_and_is_refilled(backend: LlamaBackend, expected: np.ndarray) -> None:
    for end in (30, 60, 90):
        backend.prefill(0, IDS[end - 30 : end], end - 30)
    backend.decode(0, WRONG[:8], 90)
    for length, left in ((95, 95), (93, 93), (91, 91), (89, 60), (60, 60), (59, 30), (29, 0)):
        assert backend.truncate(0, length) == left == backend.length(0)
    for end in (20, 50):
        start = backend.length(0)
        backend.prefill(0, IDS[start:end], start)
    assert backend.truncate(0, 33) == 20
    backend.prefill(0, IDS[20:33], 20)
    assert_goes_on(backend, expected)


def test_old_checkpoints_are_given_up_where_least_is_lost(backend: LlamaBackend) -> None:
    for end in range(16, 161, 16):
        backend.prefill(0, IDS[end - 16 : end], end - 16)
    backend.decode(0, WRONG[:1], 160)
    kept = []
    while backend.length(0):
        kept.append(backend.truncate(0, backend.length(0) - 1))
    assert len(kept) == CHECKPOINTS + 1
    assert kept[0] == 160
    assert kept == sorted(kept, reverse=True)


def test_the_checkpoint_least_useful_is_the_one_with_near_neighbours() -> None:
    assert _least_useful([500, 960, 999, 1001]) == 2
    assert _least_useful([10, 500, 990, 1000]) == 0


def test_slots_with_a_state_do_not_see_each_other(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    backend.prefill(1, IDS[:50], 0)
    backend.decode(0, [*IDS[40:42], *WRONG[:4]], 40)
    backend.decode(1, [*IDS[50:51], *WRONG[:6]], 50)
    backend.truncate(0, 42)
    backend.truncate(1, 51)
    assert_goes_on(backend, expected, 0)
    assert_goes_on(backend, expected, 1)
    backend.truncate(1, 0)
    backend.prefill(1, IDS[:45], 0)
    assert_goes_on(backend, expected, 1)


def test_a_failed_batch_goes_back_to_a_checkpoint(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    backend.decode(0, IDS[40:44], 40)
    with pytest.raises(BackendError, match="could not decode"):
        backend.prefill(0, [*WRONG, backend.vocabulary.size + 5], 44)
    assert backend.length(0) == 40
    assert_goes_on(backend, expected)


def test_an_abort_goes_back_to_a_checkpoint(backend: LlamaBackend, expected: np.ndarray) -> None:
    backend.prefill(0, IDS[:40], 0)
    stop = threading.Event()

    def keep_aborting() -> None:
        while not stop.wait(0.0005):
            backend.abort()

    def keep_reading() -> None:
        for _ in range(200):
            backend.truncate(0, 40)
            backend.prefill(0, IDS[40:600], 40)

    aborter = threading.Thread(target=keep_aborting)
    aborter.start()
    try:
        with pytest.raises(CancelledError):
            keep_reading()
    finally:
        stop.set()
        aborter.join()
    assert backend.length(0) == 40
    assert_goes_on(backend, expected)


def test_states_and_checkpoints_count_as_memory(backend: LlamaBackend) -> None:
    state = 3 * 4 * (3 * 128 + 16 * 16 * 4)  # layers x bytes x (convolution's inputs + heads' matrices)
    keys_and_values = 768 * 2 * 2 * (2 * 32) * 2  # padded positions x slots x (keys, values) x heads x bytes
    slots = 2 * (8 + CHECKPOINTS) * state + keys_and_values
    weights = backend._path.stat().st_size
    assert backend.memory_bytes == pytest.approx(weights + slots, rel=0.1)


def test_the_probe_finds_all_row_counts_of_a_hybrid_alike(backend: LlamaBackend) -> None:
    small = LlamaBackend(backend._path, replace(OPTIONS, context=300, threads=1))
    numerics = probe(small)
    assert numerics.exact, numerics.reason
    assert numerics.row_counts == tuple(range(numerics.min_rows, 9))
    assert numerics.contexts == (40, 250)
    small.close()


def test_the_vocabulary_of_the_real_model(tmp_path: Path) -> None:
    backend = LlamaBackend(write_qwen35(tmp_path / "large.gguf", tokens=QWEN35_TOKENS), OPTIONS)
    assert backend.vocabulary.size == QWEN35_TOKENS
    backend.prefill(0, IDS[:20], 0)
    plain = singles(backend, 20)
    assert plain.shape == (6, QWEN35_TOKENS)
    assert backend.truncate(0, 20) == 20
    backend.decode(0, [*IDS[20:22], *WRONG[:6]], 20)
    backend.truncate(0, 22)
    assert np.array_equal(backend.decode(0, IDS[22:26], 22), plain[2:])
    backend.close()


def test_a_model_without_snapshots_reuses_prefixes_all_the_same(tmp_path: Path) -> None:
    backend = LlamaBackend(write_mamba(tmp_path / "recurrent.gguf"), OPTIONS)
    assert not backend.can_rollback
    assert backend.max_rows == OPTIONS.max_rows
    backend.prefill(0, IDS[:30], 0)
    expected = singles(backend, 30)
    assert backend.truncate(0, 33) == 30
    assert np.array_equal(singles(backend, 30), expected)
    assert backend.truncate(0, 29) == 0
    backend.close()
