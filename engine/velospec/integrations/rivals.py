"""llama-cpp-python's own high-level decoding, as a benchmark's rival: greedy, with its defaults elsewhere.

`lookup` is the number of tokens that its LlamaPromptLookupDecoding drafts; 0 decodes without drafts. Its
class keeps the logits of every position once it has a draft model, so that the two kinds are kept apart.
Knows ids only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from velospec.backends.llama_cpp.native import llama_cpp, stock
from velospec.core.errors import ModelLoadError


@dataclass(frozen=True, slots=True)
class RivalRun:
    """What was decoded; `seconds` are of all ids but the first, which comes with the prompt."""

    ids: tuple[int, ...]
    first_seconds: float
    seconds: float


class LlamaCppPython:
    """One `llama_cpp.Llama`; with `drafts` it decodes by prompt lookup only, without it plainly only."""

    def __init__(self, path: Path, *, context: int, threads: int, drafts: bool) -> None:
        """Load the model of the GGUF file `path`. Raises ModelLoadError."""
        self._drafter = LlamaPromptLookupDecoding() if drafts else None
        try:
            self._llama = llama_cpp.Llama(
                str(path),
                n_ctx=context,
                n_threads=threads,
                n_threads_batch=threads,
                draft_model=self._drafter,
                logits_all=drafts,  # implied, but without it there is room for 512 positions only
                verbose=False,
            )
        except ValueError as error:
            raise ModelLoadError(f"llama-cpp-python cannot load {path}: {error}") from error

    def decode(self, prompt: Sequence[int], count: int, lookup: int = 0) -> RivalRun:
        """Decode `count` >= 1 ids after `prompt`; what is left of it in the KV cache is not read again.

        Our matrix kernel, which this process may have put before llama.cpp's own, is off meanwhile.
        """
        with stock():
            return self._decode(prompt, count, lookup)

    def _decode(self, prompt: Sequence[int], count: int, lookup: int) -> RivalRun:
        if self._drafter is not None:
            self._drafter.num_pred_tokens = lookup
        started = time.perf_counter()
        tokens = self._llama.generate(list(prompt), temp=0.0, repeat_penalty=1.0)
        ids = [next(tokens)]
        first = time.perf_counter()
        ids += [next(tokens) for _ in range(count - 1)]
        ended = time.perf_counter()
        tokens.close()
        return RivalRun(tuple(ids), first - started, ended - first)

    def close(self) -> None:
        """Free the model."""
        self._llama.close()


def version() -> str:
    """The version of llama-cpp-python."""
    return str(llama_cpp.__version__)
