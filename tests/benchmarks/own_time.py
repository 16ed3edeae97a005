"""The engine's own time: what a decode step costs besides the model, by part, with all proposers of text.

    chrt -f 20 python -m tests.benchmarks.own_time --vocabulary qwen2

Replays real files as if a model wrote them: the whole decoder runs on a backend that knows the answer and
hands out random logits whose largest is the next id. Between two steps it reads as much memory as a model's
weights would push out of the caches. What is timed is the processor time of this thread, less that of the
backend. `digest` is a sum of all that was drafted: a change that was meant to be faster only leaves it alone.

With `--model FILE` the vocabulary is that of a real model, and its time for one row, T(1), is measured too;
`--write-model FILE` first writes a random one with the 152k vocabulary of Qwen2. What a file of the standard
library says depends on the version of Python, and so do the figures, a little.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from tests.support.random_model import write_qwen2
from tests.support.repository import ROOT
from tests.support.vocabularies import vocabulary
from velospec.backends.base import Logits, Vocabulary
from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions
from velospec.control.acceptance import Acceptance
from velospec.control.cost_model import CostModel
from velospec.control.selector import Selector
from velospec.core.cancellation import CancelToken
from velospec.core.draft import Draft
from velospec.core.request import Limits
from velospec.core.step import Step
from velospec.decode.decoder import Decoder, Task
from velospec.drafting import Drafters, Drafting
from velospec.learning.library import RuleLibrary
from velospec.proposers.syntax_rules.domains import detect
from velospec.verify.greedy import GreedyVerifier

P = ParamSpec("P")
R = TypeVar("R")

FILES = (
    "bisect", "cmd", "csv", "fnmatch", "getopt", "glob", "graphlib", "heapq", "hmac", "linecache", "netrc",
    "numbers", "operator", "pprint", "queue", "reprlib", "sched", "secrets", "shlex", "textwrap",
)  # fmt: skip
LEARNED = ("argparse", "ast", "calendar", "configparser", "difflib", "fractions", "gettext", "tokenize")
OTHER = ("tests/editors/node/client.mjs", "server/velospec_cli/demo_project/web/stock.ts")
WARM = 8  # of the files; with what is remembered of them, the engine meets the others as one in use does
PROMPT, ANSWER = 400, 200  # ids of each file
_CURVE = {64: {1: 0.0076, 2: 0.0139, 4: 0.0194, 8: 0.0260, 16: 0.0444}}  # seconds by rows: the default model
_SWEPT = 32 << 20  # bytes read between two steps
_ROWS = 16


class Clock:
    """Processor time of this thread by part, in seconds."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = defaultdict(float)
        started = time.thread_time()
        for _ in range(1000):
            time.thread_time()
        self._itself = (time.thread_time() - started) / 1000

    def timed(self, part: str, call: Callable[P, R]) -> Callable[P, R]:
        """`call`, with its time counted as that of `part`."""

        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            started = time.thread_time()
            result = call(*args, **kwargs)
            self.parts[part] += time.thread_time() - started - self._itself
            return result

        return run


class FixedCost(CostModel):
    """The curve as it was measured: what a replay's batches take is no news."""

    def observe(self, rows: int, context: int, seconds: float) -> None:
        """Learn nothing."""


class ReplayBackend:
    """Implements `Backend` on texts that are known beforehand. Its own time is that of the part `model`."""

    slots, context, min_rows, max_rows = 1, PROMPT + ANSWER, 1, _ROWS

    def __init__(self, known: Vocabulary, clock: Clock) -> None:
        self.vocabulary = known
        self.text: Sequence[int] = ()
        self.logits: Logits = np.random.default_rng(0).normal(0, 3, (_ROWS, known.size)).astype(np.float32)
        self._raised: list[tuple[int, int, float]] = []
        self._weights = np.ones(_SWEPT, np.uint8)
        self.decode = clock.timed("model", self._decode)

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        """Nothing to do: the text is known."""

    def truncate(self, slot: int, length: int) -> int:  # noqa: ARG002  (a protocol)
        """Nothing to do: no position is kept."""
        return length

    def close(self) -> None:
        """Nothing to free."""

    def _decode(self, _slot: int, ids: Sequence[int], position: int) -> Logits:
        for row, token, value in self._raised:
            self.logits[row, token] = value
        following = self.text[position + 1 : position + 1 + len(ids)]
        self._raised = [(row, token, float(self.logits[row, token])) for row, token in enumerate(following)]
        for row, token, _ in self._raised:
            self.logits[row, token] = 40.0
        self._weights[::64].sum()  # a cache line each
        self.logits[: len(ids)] += 0.0  # as if just written
        return self.logits[: len(ids)]


class Replay:
    """The decoder over the texts, timed in all or by part."""

    def __init__(self, known: Vocabulary, rules: RuleLibrary, learned: Sequence[str]) -> None:
        self._vocabulary, self._rules, self._learned = known, rules, learned
        self.steps = 0
        self.drafted = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Stands for all that was drafted in the last run."""
        return self.drafted.hexdigest()[:16]

    def run(self, texts: Sequence[tuple[str, str]], *, by_part: bool) -> dict[str, float]:
        """Microseconds a step by part; with all parts, each call costs a little more for being timed."""
        clock = Clock()
        backend = ReplayBackend(self._vocabulary, clock)
        decoder = self._decoder(backend, clock, by_part=by_part)
        for number, (language, text) in enumerate(texts):
            if number == WARM:
                clock.parts.clear()
                self.steps, self.drafted = 0, hashlib.sha256()
            backend.text = self._vocabulary.encode(text)[: PROMPT + ANSWER]
            answer = len(backend.text) - PROMPT
            if answer < 1:
                continue
            task = Task(language, backend.text[:PROMPT], Limits(max_tokens=answer), language=language)
            decode = clock.timed("all", decoder.complete)
            found = decode(task, CancelToken(), None, clock.timed("listening", self._listen))
            if list(found.token_ids) != list(backend.text[PROMPT:]):
                raise AssertionError("the replay did not follow the text")
        parts = clock.parts
        # What a request begins with, every proposer reading its prompt, is no part of a step.
        parts["all"] -= parts.pop("model") + parts.pop("listening") + parts["begin"]
        parts["begin"] *= self.steps / (len(texts) - WARM)
        return {part: seconds / self.steps * 1e6 for part, seconds in parts.items()}

    def _decoder(self, backend: ReplayBackend, clock: Clock, *, by_part: bool) -> Decoder:
        drafters = Drafters(self._vocabulary, self._rules)
        drafters.use_corpus(self._learned)
        proposers = drafters.chosen(Drafting())
        selector = Selector(Acceptance(), FixedCost(_CURVE))
        for proposer in proposers:
            _time(proposer, clock, begin="begin")
            if by_part:
                _time(proposer, clock, extend=proposer.name, propose=proposer.name, observe=proposer.name)
        if by_part:
            _time(selector, clock, choose="choose", observe="observe")
        gc.collect()
        gc.freeze()  # as the daemon does when a model is loaded
        return Decoder(backend, proposers, selector)

    def _listen(self, step: Step) -> None:
        self.steps += 1
        for draft in step.offered:
            offer = (draft.proposer, draft.ids, draft.evidence, round(draft.prior, 6))
            self.drafted.update(repr(offer).encode())


def _time(part: object, clock: Clock, **methods: str) -> None:
    """Count the time of `methods` of `part`, each by the name given."""
    for method, name in methods.items():
        setattr(part, method, clock.timed(name, getattr(part, method)))


def texts(folders: Sequence[Path] = ()) -> list[tuple[str, str]]:
    """The files replayed, each with its language; and those of `folders`."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [*(library / f"{name}.py" for name in FILES), *(ROOT / name for name in OTHER)]
    files += [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    read = ((file, file.read_text("utf-8", "replace")[:20_000]) for file in files)
    return [(detect(file.name, text), text) for file, text in read]


def verifying(known_size: int) -> dict[int, float]:
    """Microseconds that greedy verification takes by rows, all of them accepted, logits in the cache."""
    logits = np.random.default_rng(1).normal(0, 3, (_ROWS, known_size)).astype(np.float32)
    ids = tuple(int(token) for token in logits.argmax(axis=1))
    verifier = GreedyVerifier()
    found = {}
    for rows in (1, 2, 4, 8):
        times = []
        for _ in range(50):
            logits[:rows] += 0.0
            started = time.thread_time()
            verifier.decide(logits[:rows], Draft(ids[: rows - 1], "known"))
            times.append(time.thread_time() - started)
        found[rows] = min(times) * 1e6
    return found


def one_row(backend: LlamaBackend, ids: Sequence[int]) -> float:
    """T(1) in microseconds after as many ids as a prompt has: the least of 40."""
    backend.prefill(0, ids[:PROMPT], 0)
    times = []
    for _ in range(40):
        started = time.perf_counter()
        backend.decode(0, ids[PROMPT : PROMPT + 1], PROMPT)
        times.append(time.perf_counter() - started)
        backend.truncate(0, PROMPT)
    return min(times) * 1e6


def report(known: Vocabulary, rounds: int, folders: Sequence[Path], single: float | None) -> Iterator[str]:
    """The figures, line by line; `single` is T(1) in microseconds where it is known."""
    library = Path(sysconfig.get_path("stdlib"))
    learned = [(library / f"{name}.py").read_text("utf-8")[:20_000] for name in LEARNED]
    with tempfile.TemporaryDirectory() as folder:
        rules = RuleLibrary(known, Path(folder), f"own-time-{known.size}")
        rules.prepare()
        replay = Replay(known, rules, learned)
        chosen = texts(folders)
        wholes = [replay.run(chosen, by_part=False)["all"] for _ in range(rounds)]
        whole, parts = min(wholes), min((replay.run(chosen, by_part=True) for _ in range(rounds)), key=_all)
    yield f"vocabulary {known.size}, {len(chosen)} files, {replay.steps} steps, digest {replay.digest}"
    share = f", {whole / single:.2%} of T(1) = {single / 1e3:.1f} ms" if single else ""
    yield f"a step {whole:.0f} us{share}"
    yield f"reading the prompt {parts.pop('begin') / 1e3:.1f} ms a request"
    parts["verify, stop rules, text, loop"] = 2 * parts["all"] - sum(parts.values())
    del parts["all"]
    yield from (f"  {part:32} {us:7.1f} us" for part, us in parts.items())
    yield from (f"  verifying {rows} rows {us:7.1f} us" for rows, us in verifying(known.size).items())


def _all(parts: dict[str, float]) -> float:
    return parts["all"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vocabulary", default="starcoder", help="one that llama.cpp is tested with")
    parser.add_argument("--model", type=Path, help="a GGUF file, for its vocabulary and T(1)")
    parser.add_argument("--write-model", type=Path, help="write a random model there, and use it")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a folder of more files")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model = write_qwen2(options.write_model) if options.write_model else options.model
    if model is None:
        known, single = vocabulary(options.vocabulary), None
    else:
        backend = LlamaBackend(model, LlamaOptions(context=PROMPT + ANSWER, slots=1))
        known = backend.vocabulary
        single = one_row(backend, known.encode(texts()[0][1]))
    for line in report(known, options.rounds, options.texts, single):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
