"""Answers under a grammar by llama-cpp-python, as a benchmark's rivals: greedy, without drafts.

`by_sampler` is its own way: llama.cpp's grammar sampler looks at the whole vocabulary, then the likeliest is
taken. `by_mask` is what programs do that bring a grammar engine along: plain decoding, the engine's mask on
the logits, and their maximum. Knows ids only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from velospec.backends.llama_cpp import open_vocabulary
from velospec.backends.llama_cpp.native import lib, llama_cpp, stock
from velospec.constraints.matcher import Matcher
from velospec.core.errors import GrammarError, ModelLoadError
from velospec.core.ids import common_length
from velospec.integrations.rivals import RivalRun


class GrammarLlama:
    """One `llama_cpp.Llama` that answers under grammars; our kernels are off meanwhile."""

    def __init__(self, path: Path, *, context: int, threads: int) -> None:
        """Load the model of the GGUF file `path`. Raises ModelLoadError."""
        try:
            self._llama = llama_cpp.Llama(
                str(path), n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
            )
        except ValueError as error:
            raise ModelLoadError(f"llama-cpp-python cannot load {path}: {error}") from error
        self.vocabulary = open_vocabulary(path)

    def by_sampler(self, prompt: Sequence[int], count: int, grammar: str) -> RivalRun:
        """Decode up to `count` ids and an end token after `prompt`, under a grammar in GBNF."""
        with stock():
            rules = llama_cpp.llama_grammar.LlamaGrammar.from_string(grammar, verbose=False)
            ids = self._llama.generate(list(prompt), temp=0.0, repeat_penalty=1.0, grammar=rules)
            return self._timed(ids, count)

    def by_mask(self, prompt: Sequence[int], count: int, matcher: Matcher) -> RivalRun:
        """The same with the masks of `matcher`, which stands at the beginning of the answer."""
        with stock():
            return self._timed(self._masked(list(prompt), matcher), count)

    def close(self) -> None:
        """Free the model."""
        self._llama.close()
        self.vocabulary.close()

    def _timed(self, ids: Iterator[int], count: int) -> RivalRun:
        started = time.perf_counter()
        decided = [next(ids)]
        first = time.perf_counter()
        while len(decided) < count and decided[-1] not in self.vocabulary.end_ids:
            following = list(islice(ids, 1))
            if not following:
                break
            decided += following
        return RivalRun(tuple(decided), first - started, time.perf_counter() - first)

    def _masked(self, prompt: list[int], matcher: Matcher) -> Iterator[int]:
        """Ids until the matcher has to stop, where the answer is complete without asking the model again."""
        llama = self._llama
        # `eval` cuts the cache to `n_tokens`; the last id is always read, for its logits.
        llama.n_tokens = common_length(llama.input_ids[: llama.n_tokens].tolist(), prompt[:-1])
        unread = prompt[llama.n_tokens :]
        mask = np.zeros(-(-self.vocabulary.size // 32), dtype=np.int32)
        while not matcher.stopped:
            llama.eval(unread)
            token = self._best(matcher, mask)
            if token not in self.vocabulary.end_ids:
                matcher.accept(token)
            yield token
            unread = [token]

    def _best(self, matcher: Matcher, mask: npt.NDArray[np.int32]) -> int:
        """The likeliest allowed id; an end token only where the answer may be complete."""
        size = self.vocabulary.size
        logits = np.ctypeslib.as_array(lib.llama_get_logits_ith(self._llama.ctx, -1), shape=(size,))
        matcher.fill(mask)
        allowed = np.unpackbits(mask.view(np.uint8), count=size, bitorder="little").view(np.bool_)
        ends = sorted(self.vocabulary.end_ids)
        allowed[ends] = matcher.accepting
        return int(np.where(allowed, logits, -np.inf).argmax())


def gbnf_of_schema(schema: str) -> str:
    """llama-cpp-python's grammar for JSON of a schema. Raises GrammarError where it has none."""
    try:
        return str(llama_cpp.llama_grammar.json_schema_to_gbnf(schema))
    except (AssertionError, KeyError, NotImplementedError, RecursionError, TypeError) as error:
        raise GrammarError(
            f"llama-cpp-python makes no grammar of the schema: {error!r}.", "Compare on another schema."
        ) from error


def gbnf_of_calls(schema: str, head: str, tail: str, *, separator: str | None) -> str:
    """The same for a value of `schema` between two literal texts.

    With a `separator`, for one value or several, the text between two of them being literal too.
    Raises GrammarError as `gbnf_of_schema` does.
    """
    rules = gbnf_of_schema(schema).replace("root ::=", "call ::=", 1)
    more = f" ({_literal(separator)} call)*" if separator is not None else ""
    return f"root ::= {_literal(head)} call{more} {_literal(tail)}\n{rules}"


def _literal(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'
