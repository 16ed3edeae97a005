"""Process-wide state of the native library: its logging, and loading a model file.

llama.cpp writes to stderr unless told otherwise; here every line goes to `logging` at debug level, and the
last warnings are kept so that a failed load can say why. Knows nothing of contexts or batches.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from velospec.backends.llama_cpp.layout import keeps_file_layout
from velospec.backends.llama_cpp.native import VERSION, kernel_names, lib
from velospec.core.errors import BackendError, ModelLoadError

Progress = Callable[[float], None]
Handle = Any  # a pointer or struct that ctypes made; opaque to us

_logger = logging.getLogger("velospec.llama_cpp")
_WARN, _ERROR = 3, 4  # ggml_log_level; the binding's own table is out of date
_MAGIC = b"GGUF"


class _LogRoute:
    """The log callback, referenced for the life of the process since C keeps its address."""

    def __init__(self) -> None:
        self.recent: deque[str] = deque(maxlen=16)
        self.callback = lib.llama_log_callback(self._receive)

    def _receive(self, level: int, text: bytes, _user: object) -> None:
        line = text.decode("utf-8", "replace").rstrip()
        if level in (_WARN, _ERROR):
            self.recent.append(line)
        if line.strip("."):  # the loader prints a row of dots as its progress
            _logger.debug("%s", line)


_log = _LogRoute()
_start = threading.Lock()
_started = False


def start() -> None:
    """Initialise the native library and take over its logging; idempotent.

    Batches of eight rows and more would run K-quants (Q4_K, Q6_K …) by tiles, which sum in another order than
    the product of a single row: greedy choices would depend on the size of the batch. That is switched off,
    unless the environment says otherwise. llama.cpp reads the variable when it first multiplies.
    """
    global _started  # noqa: PLW0603  (native state of the process is global; the lock guards it)
    with _start:
        if not _started:
            os.environ.setdefault("GGML_CPU_TILED_MM", "0")
            lib.llama_log_set(_log.callback, ctypes.c_void_p(None))
            lib.llama_backend_init()
            _started = True


def build_id() -> str:
    """Names what decides numbers and speed: binding, native library, its CPU features, kernel, this CPU."""
    features = lib.llama_print_system_info().decode("utf-8", "replace").strip(" |")
    return f"llama-cpp-python {VERSION}; {features}; kernels: {kernel_names()}; {_cpu_name()}"


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def load_model(
    path: Path,
    *,
    vocabulary_only: bool = False,
    gpu_layers: int = -1,
    repack: bool = True,
    progress: Progress | None = None,
) -> Handle:
    """Load a GGUF file. `progress` is told fractions from 0 to 1; what it raises stops the load.

    With `repack`, weights may be laid out anew where that is quicker.

    Raises:
        ModelLoadError: the file is missing, no GGUF, cut short, or of an architecture this build lacks.
    """
    start()
    _check_file(path)
    params = lib.llama_model_default_params()
    params.vocab_only = vocabulary_only
    params.n_gpu_layers = gpu_layers
    params.use_extra_bufts = repack and not vocabulary_only and not keeps_file_layout(path)
    params.kv_overrides = _OVERRIDES
    raised: list[BaseException] = []

    def report(fraction: float, _user: object) -> bool:
        try:
            if progress:
                progress(fraction)
        except BaseException as error:  # noqa: BLE001  (re-raised below; it cannot pass through C)
            raised.append(error)
        return not raised

    callback = lib.llama_progress_callback(report)
    params.progress_callback = callback
    _log.recent.clear()
    model = lib.llama_model_load_from_file(str(path).encode(), params)
    if model:
        return model
    if raised:
        raise raised[0]
    raise load_error(path)


def load_error(path: Path) -> ModelLoadError:
    """The error for a load that llama.cpp refused, with the reason it logged last."""
    reasons = [line for line in _log.recent if "failed to load model" not in line] or list(_log.recent)
    detail = _after_function_name(reasons[0]) if reasons else "no reason given"
    return ModelLoadError(
        f"llama.cpp cannot load {path.name}: {detail}.",
        f"Install the model again (velospec model install), or update llama-cpp-python "
        f"(this is {VERSION}) if the model is newer than it.",
    )


def closed_error() -> BackendError:
    """The error for a model that was closed; llama.cpp itself would crash the process."""
    return BackendError("The model was closed.", "Open it again, or close it later.")


def _after_function_name(line: str) -> str:
    head, colon, tail = line.partition(": ")
    return (tail if colon and " " not in head else line).rstrip(".")


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ModelLoadError(
            f"The model file {path} cannot be read: {error.strerror}.",
            "See what is installed with: velospec model list",
        ) from error
    if magic != _MAGIC:
        raise ModelLoadError(
            f"{path} is not a GGUF file.",
            "Choose a file whose name ends in .gguf, or install the model again.",
        )


def _no_space_prefix() -> Handle:
    """Stop SentencePiece vocabularies from putting a space before each text that is encoded.

    Texts are encoded piecewise around the infill tokens, and must come back byte for byte.
    """
    overrides = (lib.llama_model_kv_override * 2)()  # the second, all zero, ends the list
    overrides[0].tag = lib.LLAMA_KV_OVERRIDE_TYPE_BOOL
    overrides[0].key = b"tokenizer.ggml.add_space_prefix"
    overrides[0].value.val_bool = False
    return overrides


_OVERRIDES = _no_space_prefix()
