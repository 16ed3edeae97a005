"""The llama.cpp backend on the real default model: slots, batches, rollback, abort, errors, vocabulary."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from velospec.backends.llama_cpp import (
    LlamaBackend,
    LlamaOptions,
    LlamaVocabulary,
    build_id,
    native,
    open_vocabulary,
)
from velospec.backends.llama_cpp.backend import _chunks
from velospec.backends.llama_cpp.threads import ThreadGovernor
from velospec.core.errors import BackendError, CancelledError, ContextError, ModelLoadError
from velospec.models.store import InstalledModel

pytestmark = pytest.mark.model

OPTIONS = LlamaOptions(context=320, slots=2, batch=64)
TEXT = "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + fibonacci(n - 2)\n"


@pytest.fixture(scope="module")
def opened(default_model: InstalledModel) -> Iterator[LlamaBackend]:
    backend = LlamaBackend(default_model.path, OPTIONS)
    yield backend
    backend.close()


@pytest.fixture
def backend(opened: LlamaBackend) -> LlamaBackend:
    opened.configure(kv_type="bf16", flash_attention=True, min_rows=1)
    return opened


@pytest.fixture(scope="module")
def ids(opened: LlamaBackend) -> list[int]:
    return opened.vocabulary.encode(TEXT * 8)


def scored(backend: LlamaBackend, slot: int, ids: list[int]) -> np.ndarray:
    """Logits of `ids` after what the slot holds, copied; the slot is left as it was."""
    length = backend.length(slot)
    logits = backend.decode(slot, ids, length).copy()
    backend.truncate(slot, length)
    return logits


def test_the_model_completes_code(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:150], 0)
    repeated = scored(backend, 0, ids[150:166]).argmax(axis=1)[:-1].tolist()
    assert repeated == ids[151:166]  # the text repeats itself, which the model has noticed by now


def test_batches_run_in_our_kernels(backend: LlamaBackend, ids: list[int]) -> None:
    running = [kernel for kernel in native.kernels if kernel.level != "off"]
    if not running:
        pytest.skip("there are no kernels for this machine")
    backend.prefill(0, ids[:8], 0)
    before = [kernel.calls for kernel in running]
    scored(backend, 0, ids[8:12])
    assert all(kernel.calls > calls for kernel, calls in zip(running, before, strict=True))
    with native.stock():
        after = [kernel.calls for kernel in running]
        alone = scored(backend, 0, ids[8:12])
        assert [kernel.calls for kernel in running] == after
    assert [kernel.level for kernel in running] != ["off"] * len(running)
    # llama.cpp rounds the queries of attention to half precision, we do not.
    assert np.abs(scored(backend, 0, ids[8:12]) - alone).max() < 2.0


def test_rows_of_a_batch_equal_single_rows_bit_for_bit(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:100], 0)
    batch = scored(backend, 0, ids[100:116])
    for row, token in enumerate(ids[100:116]):
        single = backend.decode(0, [token], 100 + row)
        assert single.shape == (1, backend.vocabulary.size)
        assert np.array_equal(single[0], batch[row])


def test_a_tail_cut_and_redone_gives_the_same_logits(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:90], 0)
    before = scored(backend, 0, ids[90:94])
    backend.decode(0, ids[:16], 90)
    backend.truncate(0, 75)
    assert backend.length(0) == 75
    backend.prefill(0, ids[75:90], 75)
    assert np.array_equal(scored(backend, 0, ids[90:94]), before)


def test_slots_do_not_see_each_other(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:60], 0)
    alone = scored(backend, 0, ids[60:64])
    backend.prefill(1, ids[150:290], 0)
    assert np.array_equal(scored(backend, 0, ids[60:64]), alone)
    backend.truncate(1, 0)
    backend.prefill(1, ids[:60], 0)
    assert np.array_equal(scored(backend, 1, ids[60:64]), alone)


def test_logits_are_a_view_without_copies(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:20], 0)
    scored(backend, 0, ids[20:28])
    tracemalloc.start()
    try:
        logits = backend.decode(0, ids[20:28], 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not logits.flags.owndata
    assert logits.dtype == np.float32
    assert peak < 4096 < logits.nbytes


def test_a_lone_row_is_padded_to_min_rows(
    backend: LlamaBackend, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.configure(kv_type="bf16", flash_attention=True, min_rows=2)
    rows: list[int] = []
    compute = backend._compute
    monkeypatch.setattr(backend, "_compute", lambda batch: rows.append(batch.n_tokens) or compute(batch))
    backend.prefill(0, ids[:1], 0)
    backend.prefill(0, ids[1:66], 1)  # one chunk of 64 would leave one over
    assert (rows, backend.length(0)) == ([2, 63, 2], 66)
    alone = backend.decode(0, ids[66:67], 66).copy()
    assert (rows[-1], alone.shape[0], backend.length(0)) == (2, 1, 67)
    backend.truncate(0, 66)
    assert np.array_equal(alone, backend.decode(0, ids[66:71], 66)[:1])
    backend.truncate(0, 0)
    backend.prefill(0, ids[:66], 0)
    assert rows[-2:] == [64, 2]
    assert np.array_equal(alone, scored(backend, 0, ids[66:68])[:1])


def test_a_lone_row_fits_at_the_very_end_of_the_context(default_model: InstalledModel) -> None:
    backend = LlamaBackend(default_model.path, LlamaOptions(context=256, slots=1, batch=64, min_rows=2))
    assert backend.context == 256
    backend.prefill(0, list(range(100, 355)), 0)
    assert backend.decode(0, [7], 255).shape[0] == 1
    assert backend.length(0) == 256
    backend.close()


def test_chunks_leave_no_remainder_below_the_least() -> None:
    for count, most, least in itertools.product(range(30), range(4, 9), (1, 2)):
        bounds = list(_chunks(count, most, least))
        assert [end for _, end in bounds[:-1]] == [start for start, _ in bounds[1:]]
        assert (bounds[0][0], bounds[-1][1]) == (0, count) if count else not bounds
        assert all(min(least, count) <= end - start <= most for start, end in bounds)


def test_what_does_not_fit_is_refused_and_changes_nothing(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:10], 0)
    with pytest.raises(ContextError, match="321 tokens do not fit the context of 320"):
        backend.prefill(0, (ids * 2)[:311], 10)
    with pytest.raises(BackendError, match="holds 10 positions"):
        backend.decode(0, ids[:1], 9)
    with pytest.raises(BackendError, match="1 to 16 rows, not 17"):
        backend.decode(0, ids[:17], 10)
    with pytest.raises(BackendError, match="not 0"):
        backend.decode(0, [], 10)
    assert backend.length(0) == 10


def test_a_failed_decode_leaves_the_slot_as_it_was(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:100], 0)
    before = scored(backend, 0, ids[100:104])
    with pytest.raises(BackendError, match="could not decode"):
        backend.prefill(0, [*ids[100:180], backend.vocabulary.size + 5], 100)
    assert backend.length(0) == 100
    assert np.array_equal(scored(backend, 0, ids[100:104]), before)


def test_abort_stops_a_prefill_and_restores_the_slot(backend: LlamaBackend, ids: list[int]) -> None:
    backend.prefill(0, ids[:20], 0)
    before = scored(backend, 0, ids[20:22])
    stop = threading.Event()

    def keep_aborting() -> None:
        while not stop.wait(0.001):
            backend.abort()

    aborter = threading.Thread(target=keep_aborting)
    aborter.start()
    try:
        with pytest.raises(CancelledError):
            backend.prefill(0, ids[20:300], 20)
    finally:
        stop.set()
        aborter.join()
    assert backend.length(0) == 20
    assert np.array_equal(scored(backend, 0, ids[20:22]), before)


def test_an_abort_between_calls_is_forgotten(backend: LlamaBackend, ids: list[int]) -> None:
    backend.abort()
    backend.prefill(0, ids[:5], 0)
    assert backend.length(0) == 5


def test_the_default_model_can_roll_back_and_knows_its_size(
    backend: LlamaBackend, default_model: InstalledModel
) -> None:
    assert backend.can_rollback
    kv = (
        512 * 2 * 30 * 3 * (64 + 64) * 2
    )  # positions (padded) x slots x layers x heads x (key + value) x bytes
    assert backend.memory_bytes - kv == pytest.approx(default_model.path.stat().st_size, rel=0.03)


def test_loading_reports_progress_and_can_be_stopped(default_model: InstalledModel) -> None:
    fractions: list[float] = []
    LlamaBackend(default_model.path, OPTIONS, fractions.append).close()
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)

    def refuse(_fraction: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        LlamaBackend(default_model.path, OPTIONS, refuse)


def test_close_is_idempotent(default_model: InstalledModel) -> None:
    backend = LlamaBackend(default_model.path, LlamaOptions(context=64, slots=1, batch=32))
    backend.close()
    backend.close()


def test_files_that_are_no_model_are_refused(tmp_path: Path, default_model: InstalledModel) -> None:
    with pytest.raises(ModelLoadError, match="cannot be read: No such file"):
        LlamaBackend(tmp_path / "missing.gguf")
    text = tmp_path / "notes.gguf"
    text.write_text("not a model")
    with pytest.raises(ModelLoadError, match="is not a GGUF file"):
        LlamaBackend(text)
    short = tmp_path / "short.gguf"
    with default_model.path.open("rb") as whole:
        short.write_bytes(whole.read(20_000_000))
    with pytest.raises(
        ModelLoadError, match=r"cannot load short\.gguf: .*not within the file bounds"
    ) as caught:
        LlamaBackend(short)
    assert "velospec model install" in caught.value.remedy
    headless = tmp_path / "headless.gguf"
    headless.write_bytes(short.read_bytes()[:100])
    with pytest.raises(ModelLoadError, match=r"cannot load headless\.gguf"):
        LlamaBackend(headless)


def test_loading_writes_nothing_to_the_terminal(default_model: InstalledModel) -> None:
    script = (
        "import sys; from pathlib import Path; from velospec.backends.llama_cpp import *;"
        "b = LlamaBackend(Path(sys.argv[1]), LlamaOptions(context=64, slots=1, batch=32));"
        "b.prefill(0, [5, 6, 7], 0); b.close()"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(default_model.path)], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("", "")


def test_native_log_lines_reach_logging(
    default_model: InstalledModel, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "velospec.llama_cpp"):
        open_vocabulary(default_model.path).close()
    assert any("llama" in record.message for record in caplog.records)
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}


@pytest.fixture(scope="module")
def vocabulary(opened: LlamaBackend) -> LlamaVocabulary:
    return opened.vocabulary


@pytest.mark.parametrize(
    "text",
    ["", " ", "x = 'é'\n", "\t\tif (a) {\n", "naïve 日本語 🙂\u200d", "<|endoftext|>", "a\0b", " lead"],
)
def test_encoding_is_undone_by_pieces_byte_for_byte(vocabulary: LlamaVocabulary, text: str) -> None:
    ids = vocabulary.encode(text)
    assert b"".join(map(vocabulary.piece, ids)) == text.encode()
    assert vocabulary.control_ids.isdisjoint(ids)


def test_control_tokens_count_only_if_asked_for(vocabulary: LlamaVocabulary) -> None:
    assert vocabulary.encode("<|endoftext|>", special=True) == [0]
    assert vocabulary.piece(0) == b""
    assert len(vocabulary.encode("<|endoftext|>")) > 1


def test_a_lone_surrogate_becomes_a_question_mark(vocabulary: LlamaVocabulary) -> None:
    assert b"".join(map(vocabulary.piece, vocabulary.encode("a\ud800b"))) == b"a?b"


def test_end_and_control_tokens_are_known(vocabulary: LlamaVocabulary) -> None:
    assert vocabulary.size == 49152
    assert {0, 2} <= vocabulary.end_ids <= vocabulary.control_ids
    assert {6, 8, 9} <= vocabulary.control_ids
    assert vocabulary.bos_id is None
    assert vocabulary.metadata["general.architecture"] == "llama"


def test_the_vocabulary_alone_equals_the_models(
    default_model: InstalledModel, vocabulary: LlamaVocabulary
) -> None:
    alone = open_vocabulary(default_model.path)
    assert alone.encode(TEXT) == vocabulary.encode(TEXT)
    assert alone.control_ids == vocabulary.control_ids
    assert alone.metadata == vocabulary.metadata
    alone.close()


def test_the_build_id_names_binding_features_kernel_and_processor() -> None:
    binding, features, kernel, processor = build_id().split("; ")
    assert binding.startswith("llama-cpp-python 0.3.")
    assert features.startswith("CPU : ")
    assert kernel.startswith("kernels: ")
    assert processor


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_threads_that_the_machine_does_not_grant_are_given_up_and_tried_again() -> None:
    clock = Clock()
    governor = ThreadGovernor(4, clock)
    for _ in range(50):
        governor.observe(wall=0.1, cpu=0.399)
    assert governor.choose() == 4
    for _ in range(6):  # two cores' worth for four threads
        governor.observe(wall=0.1, cpu=min(governor.threads, 2) * 0.1)
    assert governor.choose() == 2
    clock.now = 0.9
    assert governor.choose() == 2
    clock.now = 1.1
    assert governor.choose() == 4
    for _ in range(6):
        governor.observe(wall=0.1, cpu=min(governor.threads, 2) * 0.1)
    clock.now = 2.2  # the second pause is twice as long
    assert governor.choose() == 2
    clock.now = 3.2
    assert governor.choose() == 4


def test_one_short_hiccup_costs_no_thread() -> None:
    governor = ThreadGovernor(2, Clock())
    governor.observe(wall=0.1, cpu=0.14)
    governor.observe(wall=0.1, cpu=0.199)
    assert governor.choose() == 2


def test_batches_shorter_than_the_steps_of_the_clock_of_cpu_time_are_judged_together() -> None:
    """Linux counts the time of running threads by ticks: batches of 3 ms seem to get 1 or 3 of 2 threads."""
    governor = ThreadGovernor(2, Clock())
    for _ in range(100):
        for cpu in (0.003, 0.003, 0.009, 0.009):
            governor.observe(wall=0.003, cpu=cpu)
        assert governor.choose() == 2


def test_one_thread_is_always_left() -> None:
    governor = ThreadGovernor(2, Clock())
    for _ in range(20):
        governor.observe(wall=1.0, cpu=0.01)
    assert governor.choose() == 1
