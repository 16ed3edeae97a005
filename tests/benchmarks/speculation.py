"""Tokens per second, plain and speculative, on the real default model.

    python -m tests.benchmarks.speculation --help

Compares, on the same prompts in one run, warmed up and interleaved:

- plain: VeloSpec without drafts, which is the reference of exact mode;
- velospec: exact mode with suffix drafts;
- rival: llama-cpp-python's own `Llama.generate`, greedy, and with its prompt lookup of 10 and of 2 tokens.

Outputs are checked before anything is printed: VeloSpec's must equal plain token for token. Ratios of the
rivals are to their own plain decoding, and so is the count of their outputs that stay the same. Prefill is
not counted. End tokens are ordinary here, so that every prompt yields the same number of tokens. With one
thread, `--clock cpu` gives figures that other work on the machine disturbs less than the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import llama_cpp
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from tests.support.prompts import PROMPTS, CodePrompt
from tests.support.unending import unending
from velospec import CancelToken, Engine, InstalledModel, Limits, ModelStore, __version__
from velospec.backends.base import Backend
from velospec.control.acceptance import Acceptance
from velospec.control.selector import Selector
from velospec.decode.decoder import Decoder, Task
from velospec.proposers.suffix import SuffixProposer

TOKENS = 128
MODEL = "smollm2-135m-fim"
_CONTEXT = 512
_CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt decoded once by one method."""

    prompt: str
    method: str
    round: int
    tokens: int
    seconds: float
    tokens_per_step: float | None
    ids: tuple[int, ...]

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds


class Ours:
    """VeloSpec's decoder, with or without drafts."""

    def __init__(
        self, backend: Backend, decoder: Decoder, clock: Callable[[], float], *, speculate: bool
    ) -> None:
        self._backend = backend
        self._decoder = decoder
        self._speculate = speculate
        self._clock = clock

    def run(self, prompt: CodePrompt) -> tuple[int, float, float | None, tuple[int, ...]]:
        ids = self._backend.vocabulary.encode(prompt.text)
        name = f"{prompt.name}-{self._speculate}"
        self._decoder.complete(Task(name, ids, Limits(max_tokens=1), speculate=False), CancelToken())
        started = self._clock()
        task = Task(name, ids, Limits(max_tokens=TOKENS), speculate=self._speculate)
        done = self._decoder.complete(task, CancelToken())
        seconds = self._clock() - started
        statistics = done.statistics
        return TOKENS, seconds, statistics.new_tokens / statistics.steps, done.token_ids


class Rival:
    """llama-cpp-python's high-level class, with prompt lookup of `lookup` tokens, 0 for none."""

    def __init__(self, path: Path, threads: int, clock: Callable[[], float], lookup: int) -> None:
        draft = LlamaPromptLookupDecoding(num_pred_tokens=lookup) if lookup else None
        self._llama = llama_cpp.Llama(
            str(path),
            n_ctx=_CONTEXT,
            n_threads=threads,
            n_threads_batch=threads,
            draft_model=draft,
            verbose=False,
        )
        self._clock = clock

    def run(self, prompt: CodePrompt) -> tuple[int, float, float | None, tuple[int, ...]]:
        ids = self._llama.tokenize(prompt.text.encode(), add_bos=False)
        tokens = self._llama.generate(ids, temp=0.0, repeat_penalty=1.0)
        made = [next(tokens)]  # the first one includes the prefill
        started = self._clock()
        made += [next(tokens) for _ in range(TOKENS - 1)]
        return TOKENS - 1, self._clock() - started, None, tuple(made)


def run_all(methods: dict[str, Ours | Rival], prompts: tuple[CodePrompt, ...], rounds: int) -> Iterator[Row]:
    for method in methods.values():
        method.run(prompts[0])
    for number in range(rounds):
        for prompt in prompts:
            for name, method in methods.items():
                yield Row(prompt.name, name, number, *method.run(prompt))
            sys.stderr.write(f"round {number + 1}: {prompt.name}" + "\n")


def same_outputs(rows: list[Row], method: str, reference: str) -> list[bool]:
    """For each prompt, whether all outputs of `method` equal those of `reference`."""
    outputs: dict[str, dict[str, set[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        outputs[row.prompt][row.method].add(row.ids)
    return [len(made[method] | made[reference]) == 1 for made in outputs.values()]


def rates(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Median tokens per second by prompt and method."""
    grouped: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        grouped[row.prompt][row.method].append(row.rate)
    return {prompt: {m: median(values) for m, values in made.items()} for prompt, made in grouped.items()}


def print_table(rows: list[Row]) -> None:
    steps = {row.prompt: row.tokens_per_step for row in rows if row.method == "velospec"}
    say("| prompt | plain tok/s | velospec tok/s | tok/step | velospec | lookup 10 | lookup 2 |")
    say("|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = defaultdict(list)
    for prompt, made in rates(rows).items():
        against = {
            "velospec": made["velospec"] / made["plain"],
            "lookup-10": made["lookup-10"] / made["rival-plain"],
            "lookup-2": made["lookup-2"] / made["rival-plain"],
        }
        for name, ratio in against.items():
            ratios[name].append(ratio)
        cells = " | ".join(f"{ratio:.2f}x" for ratio in against.values())
        say(f"| {prompt} | {made['plain']:.1f} | {made['velospec']:.1f} | {steps[prompt]:.2f} | {cells} |")
    for label, pick in (("mean", mean), ("worst", min)):
        cells = " | ".join(f"{pick(values):.2f}x" for values in ratios.values())
        say(f"| {label} | | | | {cells} |")
    for name in ("lookup-10", "lookup-2"):
        same = same_outputs(rows, name, "rival-plain")
        say(f"\n{name}: {sum(same)} of {len(same)} outputs equal plain decoding's")


def installed_model() -> InstalledModel:
    os.environ.setdefault("VELOSPEC_HOME", str(Path(__file__).parents[2] / ".cache" / "home"))
    return ModelStore().get(MODEL)


def main() -> int:
    parser = argparse.ArgumentParser(description="Tokens per second, plain and speculative.")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    parser.add_argument("--clock", choices=sorted(_CLOCKS), default="wall")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    model = installed_model()
    # Measured anew, under the conditions of this run; the usual profile stays as it is.
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.open(
            replace(model, folder=Path(folder)), threads=options.threads, context=2 * _CONTEXT
        )
        engine.measure()
        status = compare(engine, model.path, options)
        engine.close()
    return status


def compare(engine: Engine, path: Path, options: argparse.Namespace) -> int:
    """Run all methods, check their outputs, print and store the figures."""
    clock = _CLOCKS[options.clock]
    if not engine.numerics.exact:
        sys.stderr.write(f"No exact mode here: {engine.numerics.reason}" + "\n")
        return 1
    threads = engine.describe()["threads"]
    backend = unending(engine._backend)
    selector = Selector(Acceptance(), engine._cost, min_rows=backend.min_rows)
    decoder = Decoder(backend, [SuffixProposer()], selector)
    methods: dict[str, Ours | Rival] = {
        "plain": Ours(backend, decoder, clock, speculate=False),
        "velospec": Ours(backend, decoder, clock, speculate=True),
        "rival-plain": Rival(path, threads, clock, 0),
        "lookup-10": Rival(path, threads, clock, 10),
        "lookup-2": Rival(path, threads, clock, 2),
    }
    rows = list(run_all(methods, PROMPTS[: options.prompts], options.rounds))
    if not all(same_outputs(rows, "velospec", "plain")):
        sys.stderr.write("Outputs with drafts differ from those without: no figures." + "\n")
        return 1
    say(f"{conditions(engine, options)}\n")
    print_table(rows)
    if options.json:
        data: list[dict[str, Any]] = [{**asdict(row), "ids": list(row.ids)} for row in rows]
        document = {"conditions": conditions(engine, options), "rows": data}
        options.json.write_text(json.dumps(document, indent=1))
    return 0


def conditions(engine: Engine, options: argparse.Namespace) -> str:
    profile = engine.profile
    curve = (
        [profile.cost.seconds(k, 256) / profile.cost.seconds(1, 256) for k in (2, 4, 8)] if profile else []
    )
    shape = ", ".join(f"{ratio:.2f}" for ratio in curve)
    return (
        f"velospec {__version__}, llama-cpp-python {llama_cpp.__version__}, "
        f"Python {platform.python_version()}, "
        f"{profile.conditions.build.rpartition(';')[2].strip() if profile else ''}, "
        f"{engine.describe()['threads']} threads, {options.clock} clock, {options.rounds} rounds, "
        f"{TOKENS} tokens; T(2), T(4), T(8) = {shape} of T(1)"
    )


if __name__ == "__main__":
    sys.exit(main())
