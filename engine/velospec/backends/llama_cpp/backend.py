"""KV slots and batches of one loaded model. Token ids and positions in, logits out; nothing else is known.

Two things here decide exactness. Every batch that reaches llama.cpp has at least `min_rows` rows, since a
single row may run other kernels than several: a lone row is padded with a second one, which is cut off again
and cannot influence the first (attention is causal). And a batch never exceeds llama.cpp's physical batch, so
that it is never split behind our back. How positions are taken back is the business of `memory`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from velospec.backends.base import Logits
from velospec.backends.cpu import usable_cores
from velospec.backends.llama_cpp import library
from velospec.backends.llama_cpp.batch import AbortFlag, Batch
from velospec.backends.llama_cpp.library import Handle
from velospec.backends.llama_cpp.memory import CHECKPOINTS, SlotMemory
from velospec.backends.llama_cpp.native import lib
from velospec.backends.llama_cpp.options import KvType, LlamaOptions
from velospec.backends.llama_cpp.threads import ThreadGovernor
from velospec.backends.llama_cpp.vocabulary import LlamaVocabulary
from velospec.core.errors import BackendError, CancelledError, ContextError, ModelLoadError

_KV_TYPES = {KvType.F16: lib.GGML_TYPE_F16, KvType.BF16: 30}  # ggml_type; the binding names no BF16
_ABORTED = 2  # what llama_decode returns when the abort callback said so


class LlamaBackend:
    """Implements `backends.base.Backend` with llama.cpp.

    One thread at a time may call it; `abort` may come from any thread.
    """

    def __init__(
        self, path: Path, options: LlamaOptions | None = None, progress: library.Progress | None = None
    ) -> None:
        """Load the model of the GGUF file `path`. Raises ModelLoadError."""
        options = options or LlamaOptions()
        self.options = options
        self.threads = options.threads or usable_cores()
        self._governor = ThreadGovernor(self.threads)
        self._pinned: int | None = None
        self._path = path
        self._model = self._load(progress)
        # CPU time says nothing about a batch that runs elsewhere.
        self._governed = not (lib.llama_supports_gpu_offload() and options.gpu_layers)
        # Recurrent and hybrid models have a running state; most others could take back any position.
        self._stateful = bool(
            lib.llama_model_is_recurrent(self._model) or lib.llama_model_is_hybrid(self._model)
        )
        self._context: Handle = None
        self._attached: LlamaVocabulary | None = None  # to the model: `vocabulary`, as soon as there is one
        self._views: dict[tuple[int, int], Logits] = {}  # by address and rows
        try:
            _refuse_unsupported(self._model, path)
            self.vocabulary = self._attached = LlamaVocabulary(self._model)
            self._open_context()
            self.memory_bytes = self._measure_memory()
        except BaseException:
            self.close()
            raise

    def configure(self, *, kv_type: str, flash_attention: bool, min_rows: int, repack: bool = True) -> None:
        """Reopen all slots, empty, under another numeric setting; another `repack` reads the weights again.

        Raises ModelLoadError where llama.cpp refuses; the backend is then closed but for `close`.
        """
        self._require_open()
        reload = repack != self.options.repack
        self.options = replace(
            self.options,
            kv_type=KvType(kv_type),
            flash_attention=flash_attention,
            min_rows=min_rows,
            repack=repack,
        )
        lib.llama_free(self._context)
        self._context = None
        if reload:
            self._free_model()
            self._model = self._load()
            self.vocabulary.attach(self._model)
        self._open_context()

    def _load(self, progress: library.Progress | None = None) -> Handle:
        options = self.options
        return library.load_model(
            self._path, gpu_layers=options.gpu_layers, repack=options.repack, progress=progress
        )

    def _open_context(self) -> None:
        options = self.options
        self._abort = AbortFlag()
        self._batch = Batch(options.batch)
        self._context = lib.llama_init_from_model(self._model, self._context_params())
        if not self._context:
            raise library.load_error(self._path)
        self._abort.attach(self._context)
        self._memory = SlotMemory(self._context, options.slots, stateful=self._stateful)
        self.slots = options.slots
        self.min_rows = options.min_rows
        self.max_rows = options.max_rows
        if self._stateful and self._memory.can_rollback:  # all rows but the first can then be taken back
            self.max_rows = min(options.max_rows, self._memory.snapshots + 1)
        # A lone row at the very end needs room for the row that pads it.
        self.context: int = min(options.context, lib.llama_n_ctx_seq(self._context) - (self.min_rows - 1))
        self._views.clear()

    def _context_params(self) -> Handle:
        options = self.options
        trained = lib.llama_model_n_ctx_train(self._model)
        per_slot = min(options.context + options.min_rows - 1, trained)
        params = lib.llama_context_default_params()
        params.n_ctx = per_slot * options.slots
        params.n_batch = params.n_ubatch = options.batch
        params.n_seq_max = options.slots
        params.n_outputs_max = max(options.max_rows, options.slots)  # llama.cpp reserves one per slot
        params.n_threads = params.n_threads_batch = self.threads
        params.type_k = params.type_v = _KV_TYPES[options.kv_type]
        params.flash_attn_type = int(options.flash_attention)  # llama_flash_attn_type: 0 off, 1 on
        if self._stateful:  # llama.cpp wants a batch to be larger than the rows that it can take back
            params.n_rs_seq = min(options.snapshots, options.batch - 2)
        params.swa_full = True  # keep what a sliding window would drop, so that it can be rolled back
        params.kv_unified = False  # each slot its own stream: a slot's numbers ignore its neighbours
        params.no_perf = True
        return params

    @property
    def can_rollback(self) -> bool:
        """Whether `truncate` takes back exactly all rows of the last `decode` but its first.

        True of attention models, and of the recurrent and hybrid ones that llama.cpp keeps snapshots for.
        """
        return self._memory.can_rollback

    def _measure_memory(self) -> int:
        """Bytes of the weights and of all slots, checkpoints included; scratch buffers not counted.

        Decodes one id, whose size counts for every position. The file is mapped, not read: whoever decodes
        first waits for all of it to come from the disk, and that is part of loading and not of a request.
        """
        empty, _ = self._memory.sizes(0)
        self.decode(0, [0], 0)
        position, state = self._memory.sizes(0)
        self.truncate(0, 0)
        positions = lib.llama_n_ctx_seq(self._context) * self.slots
        states = self.slots * (1 + self._memory.snapshots + CHECKPOINTS)
        return int(lib.llama_model_size(self._model) + positions * (position - empty) + states * state)

    def pin_threads(self, count: int | None) -> None:
        """Run on exactly `count` threads, whatever the machine is doing; None lets the governor choose."""
        self._pinned = count

    def length(self, slot: int) -> int:
        """Positions of `slot` that are in the KV cache."""
        return self._memory.length(slot)

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        """Put `ids` into the KV cache of `slot` from `position` on, no logits.

        Runs in chunks of at most `options.batch` rows. `position` must be the slot's length.

        Raises:
            ContextError: they do not fit.
            BackendError: llama.cpp failed; the slot is as before the call, or shorter: see `length`.
            CancelledError: `abort` was called meanwhile; the slot is as with BackendError.
        """
        self._check(slot, len(ids), position)
        try:
            for start, end in _chunks(len(ids), self.options.batch, self.min_rows):
                self._run(slot, ids[start:end], position + start, scored=False)
        except (BackendError, CancelledError):
            self.truncate(slot, position)
            raise
        self._memory.save(slot)

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        """As `prefill`, and return the logits of every row, at most `max_rows`.

        Returns a view of llama.cpp's own buffer, shape [len(ids), vocabulary.size], float32, valid until the
        next call. Raises as `prefill`.
        """
        rows = len(ids)
        if not 1 <= rows <= self.max_rows:
            raise BackendError(f"A decode takes 1 to {self.max_rows} rows, not {rows}.")
        self._check(slot, rows, position)
        self._run(slot, ids, position, scored=True)
        pointer = lib.llama_get_logits_ith(self._context, 0)
        if not pointer:
            raise BackendError("llama.cpp returned no logits.")
        key = (ctypes.addressof(pointer.contents), rows)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = np.ctypeslib.as_array(pointer, (rows, self.vocabulary.size))
        return view

    def truncate(self, slot: int, length: int) -> int:
        """Cut the KV cache of `slot` back to its first `length` positions; returns how many are left.

        Fewer than `length` are left where a recurrent or hybrid model cannot go back so little: to the end of
        an earlier prefill then. Its last `decode` can be taken back exactly, but for the first row; see
        `can_rollback`. Raises BackendError if llama.cpp refuses.
        """
        self._require_open()
        return self._memory.truncate(slot, length)

    def abort(self) -> None:
        """Make the call in progress raise CancelledError within about a millisecond; any thread may call.

        Does nothing between calls: set a cancel token first, which the caller reads between them.
        """
        self._abort.set()

    def close(self) -> None:
        """Free the model; whatever is asked of the backend afterwards is a BackendError. Idempotent."""
        self._views.clear()
        if self._context:
            lib.llama_free(self._context)
            self._context = None
        if self._model:
            self._free_model()

    def _free_model(self) -> None:
        if self._attached is not None:
            self._attached.detach()
        lib.llama_model_free(self._model)
        self._model = None

    def _require_open(self) -> None:
        """llama.cpp crashes the process where it is asked about a context that was freed."""
        if not self._context:
            raise library.closed_error()

    def _check(self, slot: int, rows: int, position: int) -> None:
        self._require_open()
        length = self._memory.length(slot)
        if position != length:
            raise BackendError(f"Slot {slot} holds {length} positions; rows cannot start at {position}.")
        if position + rows > self.context:
            raise ContextError(
                f"{position + rows} tokens do not fit the context of {self.context}.",
                "Shorten the prompt or open the model with a larger context.",
            )

    def _run(self, slot: int, ids: Sequence[int], position: int, *, scored: bool) -> None:
        """One native batch, padded to `min_rows`. On failure the slot goes back; see `prefill`."""
        rows = len(ids)
        self._memory.settle(slot)
        padded = ids if rows >= self.min_rows else [*ids, ids[-1]]
        batch = self._batch.fill(slot, padded, position, scored=scored)
        status = self._compute(batch)
        if status:
            self._memory.recover(slot)
            if status == _ABORTED:
                raise CancelledError("The decode was stopped.")
            raise BackendError(
                f"llama.cpp could not decode {rows} rows at position {position} (status {status}).",
                "Restart the daemon with: velospec daemon stop",
            )
        self._memory.extend(slot, len(padded))
        if len(padded) > rows:
            self._memory.truncate(slot, position + rows)

    def _compute(self, batch: Handle) -> int:
        """One llama_decode on as many threads as the machine grants; its status."""
        threads = self._pinned or self._governor.choose()  # without observations: always the most
        lib.llama_set_n_threads(self._context, threads, threads)
        self._abort.clear()
        wall, cpu = time.perf_counter(), time.process_time()
        status: int = lib.llama_decode(self._context, batch)
        if self._governed and self._pinned is None:
            self._governor.observe(time.perf_counter() - wall, time.process_time() - cpu)
        return status


def _chunks(count: int, most: int, least: int) -> Iterator[tuple[int, int]]:
    """Bounds that cut `count` rows into chunks of at most `most`, none under `least` unless `count` is."""
    start = 0
    while start < count:
        end = min(start + most, count)
        if 0 < count - end < least:
            end = count - least
        yield start, end
        start = end


def _refuse_unsupported(model: Handle, path: Path) -> None:
    step_by_step = lib.llama_model_has_decoder(model) and not lib.llama_model_is_diffusion(model)
    if lib.llama_model_has_encoder(model) or not step_by_step:
        raise ModelLoadError(
            f"{path.name} does not generate text token by token.",
            "Choose a decoder-only language model; velospec model list shows some.",
        )
