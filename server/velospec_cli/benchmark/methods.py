"""Who decodes: VeloSpec with and without drafts, and the rivals, all by the same call on the same prompt ids.

The native library loads with this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from velospec import CancelToken, Completion, Engine, FinishReason, Statistics, Step
from velospec.core.request import InfillRequest, Limits
from velospec.integrations.rivals import LlamaCppPython
from velospec_cli.benchmark.suites.prompt import Prompt

PLAIN, VELOSPEC, FAST = "plain", "velospec", "velospec-fast"
REFERENCE = "exact-without-drafts"
"""Where exact mode never decodes a row alone, plain decoding is no measure of its output; this is."""

LLAMA, LOOKUP_10, LOOKUP_2 = "llama-cpp-python", "prompt-lookup-10", "prompt-lookup-2"
GRAMMAR, MASK = "llama-cpp-grammar", "mask-argmax"
RIVALS = (LLAMA, LOOKUP_10, LOOKUP_2, GRAMMAR, MASK)


@dataclass(frozen=True, slots=True)
class Run:
    """One prompt decoded once. `seconds` are of `timed` of the tokens, without reading the prompt."""

    ids: tuple[int, ...]
    timed: int
    seconds: float
    statistics: Statistics | None = None
    steps: tuple[Step, ...] = ()
    text: str = ""
    cut: bool = False  # by the number of tokens; where ends count

    @property
    def tokens_per_second(self) -> float:
        return self.timed / self.seconds if self.seconds else 0.0


class Method(Protocol):
    """One way to decode. `reader` names what holds the KV cache: methods of one reader share a prompt."""

    name: str
    reader: str

    def read(self, prompt: Prompt) -> float:
        """Read the prompt into the KV cache; seconds until the first token was there."""
        ...

    def run(self, prompt: Prompt, tokens: int) -> Run:
        """Decode up to `tokens` tokens; the prompt is in the KV cache already."""
        ...


class VeloSpecMethod:
    """An engine, with drafts or without."""

    def __init__(self, name: str, engine: Engine, *, speculate: bool, ends: bool, free: bool = False) -> None:
        """`ends`: an end token ends the output. `free`: grammars are left out."""
        self.name = name
        self.reader = f"engine-{id(engine)}"
        self._engine = engine
        self._speculate = speculate
        self._ends = ends
        self._free = free

    def read(self, prompt: Prompt) -> float:
        return self._complete(prompt, 1, []).statistics.first_token_seconds

    def run(self, prompt: Prompt, tokens: int) -> Run:
        steps: list[Step] = []
        done = self._complete(prompt, tokens, steps)
        statistics = done.statistics
        ids = tuple(token for step in steps for token in step.verdict.ids)[: statistics.new_tokens]
        cut = done.finish is FinishReason.LENGTH
        return Run(ids, len(ids), statistics.decode_seconds, statistics, tuple(steps), done.text, cut)

    def _complete(self, prompt: Prompt, tokens: int, steps: list[Step]) -> Completion:
        limits = Limits(max_tokens=tokens, ignore_end=not self._ends)
        request = prompt.request("benchmark", limits, speculate=self._speculate, free=self._free)
        if isinstance(request, InfillRequest):
            return self._engine.infill(request, CancelToken(), on_step=steps.append)
        return self._engine.generate(request, CancelToken(), on_step=steps.append)


class RivalMethod:
    """llama-cpp-python, with a prompt lookup of so many tokens or, with 0, without drafts."""

    def __init__(self, name: str, llama: LlamaCppPython, engine: Engine, lookup: int) -> None:
        """`engine` makes the prompt ids, so that they are the same for all."""
        self.name = name
        self.reader = f"llama-{id(llama)}"
        self._llama = llama
        self._engine = engine
        self._lookup = lookup

    def read(self, prompt: Prompt) -> float:
        return self._llama.decode(self._ids(prompt), 1, self._lookup).first_seconds

    def run(self, prompt: Prompt, tokens: int) -> Run:
        run = self._llama.decode(self._ids(prompt), max(tokens, 2), self._lookup)
        return Run(run.ids[:tokens], len(run.ids) - 1, run.seconds)

    def _ids(self, prompt: Prompt) -> tuple[int, ...]:
        return self._engine.prompt_ids(prompt.request("benchmark", Limits(), speculate=False))


def rivals(engine: Engine, *, context: int) -> tuple[list[Method], list[LlamaCppPython]]:
    """The three rivals on the engine's model file, and what must be closed after them."""
    threads = int(engine.describe()["threads"])
    plain, drafting = (
        LlamaCppPython(engine.model.path, context=context, threads=threads, drafts=drafts)
        for drafts in (False, True)
    )
    methods: list[Method] = [
        RivalMethod(LLAMA, plain, engine, 0),
        RivalMethod(LOOKUP_10, drafting, engine, 10),
        RivalMethod(LOOKUP_2, drafting, engine, 2),
    ]
    return methods, [plain, drafting]


def by_reader(methods: Iterable[Method]) -> dict[str, list[Method]]:
    """The methods that share a KV cache, by its holder."""
    groups: dict[str, list[Method]] = {}
    for method in methods:
        groups.setdefault(method.reader, []).append(method)
    return groups
