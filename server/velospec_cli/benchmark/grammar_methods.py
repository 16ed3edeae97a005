"""The rivals of structured answers: llama.cpp's own grammar sampling, and a grammar engine's masks.

The native library loads with this module.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Protocol

from velospec import Engine
from velospec.constraints.compiler import EngineName, GrammarCompiler
from velospec.core.request import Limits
from velospec.integrations.grammar_rivals import GrammarLlama
from velospec.integrations.rivals import RivalRun
from velospec_cli.benchmark.answers import gbnf_of
from velospec_cli.benchmark.methods import GRAMMAR, MASK, Method, Run
from velospec_cli.benchmark.suites.prompt import Prompt


class _Decode(Protocol):
    """One way to answer a prompt with a grammar."""

    def __call__(self, prompt: Prompt, ids: tuple[int, ...], count: int) -> RivalRun: ...


class GrammarRival:
    """llama-cpp-python under a prompt's grammar, one way or the other."""

    def __init__(self, name: str, llama: GrammarLlama, engine: Engine, decode: _Decode) -> None:
        """`engine` makes the prompt ids, so that they are the same for all."""
        self.name = name
        self.reader = f"grammar-llama-{id(llama)}"
        self._engine = engine
        self._decode = decode

    def read(self, prompt: Prompt) -> float:
        return self._decode(prompt, self._ids(prompt), 1).first_seconds

    def run(self, prompt: Prompt, tokens: int) -> Run:
        run = self._decode(prompt, self._ids(prompt), max(tokens, 2))
        ids = run.ids[:tokens]
        return Run(ids, len(run.ids) - 1, run.seconds, cut=len(ids) == tokens)

    def _ids(self, prompt: Prompt) -> tuple[int, ...]:
        return self._engine.prompt_ids(prompt.request("benchmark", Limits(), speculate=False, free=True))


def mask_engine() -> EngineName:
    """The grammar engine whose masks the rival uses: xgrammar, or llguidance where that is not installed."""
    return "xgrammar" if find_spec("xgrammar") and find_spec("torch") else "llguidance"


def grammar_rivals(engine: Engine, *, context: int) -> tuple[list[Method], GrammarLlama]:
    """Both rivals on the engine's model file, and what must be closed after them."""
    llama = GrammarLlama(engine.model.path, context=context, threads=int(engine.describe()["threads"]))
    compiler = GrammarCompiler(llama.vocabulary, mask_engine())

    def by_sampler(prompt: Prompt, ids: tuple[int, ...], count: int) -> RivalRun:
        assert prompt.structure is not None  # noqa: S101 - such are the prompts of these suites
        return llama.by_sampler(ids, count, gbnf_of(prompt.structure))

    def by_mask(prompt: Prompt, ids: tuple[int, ...], count: int) -> RivalRun:
        assert prompt.grammar is not None  # noqa: S101 - as above
        return llama.by_mask(ids, count, compiler.compile(prompt.grammar).matcher())

    return [
        GrammarRival(GRAMMAR, llama, engine, by_sampler),
        GrammarRival(MASK, llama, engine, by_mask),
    ], llama
