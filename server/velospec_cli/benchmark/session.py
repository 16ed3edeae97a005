"""The order of the runs: warmed up, all methods on each prompt in turns, and over when the time is.

A round goes once over all prompts. At its beginning the engine's acceptance is what VeloSpec ships; from
then on it learns from prompt to prompt, as in use. So no prompt is helped by what it taught in an earlier
round, and no text is carried over: what is learned of texts comes from the prompt's own corpus alone.

On each prompt the methods follow each other at once, a different one first each time, so that what slows the
machine down for a while slows all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from velospec import Drafting, Engine
from velospec.models.progress import Progress
from velospec_cli.benchmark.methods import PLAIN, REFERENCE, RIVALS, Method, Run, by_reader
from velospec_cli.benchmark.suites.prompt import Prompt
from velospec_cli.benchmark.suites.registry import read_texts

_WARM_TOKENS = 16
WARM_PROMPT = Prompt("warm-up", "def celsius(fahrenheit):\n    return (fahrenheit - 32) * 5 / 9\n\n\ndef")
"""What all methods decode a little of before anything counts."""

_MARGIN = 1.2  # of the time that one prompt takes, held ready before the next one begins


@dataclass(slots=True)
class Entry:
    """All runs of one prompt: by method, in the order of the rounds that it took part in."""

    prompt: Prompt
    runs: dict[str, list[Run]] = field(default_factory=dict)
    first_token: dict[str, float] = field(default_factory=dict)  # seconds, by method, prompt not in the cache

    @property
    def reference(self) -> tuple[int, ...]:
        """The output without drafts, in the mode that is measured."""
        return self.runs.get(REFERENCE, self.runs[PLAIN])[0].ids


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to run. `deadline` is on the clock of time.monotonic; nothing begins that would pass it."""

    tokens: int
    rounds: int
    rival_rounds: int
    prompts: int  # that count
    least: int = 1  # tokens of an output that counts
    deadline: float | None = None

    @property
    def over(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def rounds_of(self, method: str) -> int:
        """In how many rounds a method takes part."""
        if method == REFERENCE:
            return 1
        return self.rival_rounds if method in RIVALS else self.rounds


class Session:
    """Runs a plan over prompts with the methods of engines and their rivals."""

    def __init__(
        self,
        engines: Sequence[tuple[Engine, Drafting]],
        methods: Sequence[Method],
        say: Progress,
        warm: Prompt = WARM_PROMPT,
    ) -> None:
        """`engines` come with how each drafts from the beginning of every round."""
        self._engines = engines
        self._methods = methods
        self._say = say
        self._warm = warm
        self._learned: tuple[object, ...] = ()
        self._slowest = 0.0  # seconds of one prompt

    def warm_up(self) -> float:
        """Decode a little by every method; the tokens per second of plain decoding."""
        rates = {}
        for method in self._methods:
            method.read(self._warm)
            rates[method.name] = method.run(self._warm, _WARM_TOKENS).tokens_per_second
        return rates[PLAIN]

    def run(self, prompts: Sequence[Prompt], plan: Plan) -> list[Entry]:
        """The entries of all prompts that were run at least once, in the prompts' order."""
        entries: dict[str, Entry] = {}
        waiting = list(prompts)
        for number in range(plan.rounds):
            self._begin_round()
            for entry in self._round(waiting, entries, plan, number):
                entries[entry.prompt.name] = entry
            waiting = [entry.prompt for entry in entries.values()]
            if self._out_of_time(plan):
                break
        return list(entries.values())

    def _begin_round(self) -> None:
        for engine, drafting in self._engines:
            engine.use_drafting(drafting)
        self._learned = ()

    def _round(
        self, prompts: Sequence[Prompt], entries: dict[str, Entry], plan: Plan, number: int
    ) -> Iterator[Entry]:
        taken = 0
        for index, prompt in enumerate(prompts):
            if taken >= plan.prompts or (taken and self._out_of_time(plan)):
                return
            self._say(f"Round {number + 1} of {plan.rounds}", taken, plan.prompts)
            started = time.monotonic()
            entry = entries.get(prompt.name) or Entry(prompt)
            if self._run_prompt(entry, plan, number, index):
                taken += 1
                yield entry
            self._slowest = max(self._slowest, time.monotonic() - started)

    def _run_prompt(self, entry: Entry, plan: Plan, number: int, turn: int) -> bool:
        """Run `entry`'s prompt once by each method; False where its output is too short to count."""
        prompt = entry.prompt
        self._learn(prompt)
        length = self._length(entry, plan)
        if length < plan.least:
            return False
        methods = [method for method in self._methods if number < plan.rounds_of(method.name)]
        for group in by_reader(methods).values():
            self._read(entry, group)
        shift = (number + turn) % len(methods)
        for method in (*methods[shift:], *methods[:shift]):
            if method.name in RIVALS and plan.over:
                continue  # a machine that was much slower than it seemed
            # Rivals know no end unless it is in a grammar: they decode as many tokens as the reference has.
            run = method.run(prompt, length if method.name in RIVALS else plan.tokens)
            if run.statistics is not None and method.name not in entry.runs:
                # The model has read the prompt before; the proposers did now.
                entry.first_token[method.name] += run.statistics.prefill_seconds
            entry.runs.setdefault(method.name, []).append(run)
        return True

    def _length(self, entry: Entry, plan: Plan) -> int:
        """Tokens of the output without drafts."""
        if plan.least == 1:
            return plan.tokens
        if entry.runs:
            return len(entry.reference)
        plain = next(method for method in self._methods if method.name == PLAIN)
        self._read(entry, [method for method in self._methods if method.reader == plain.reader])
        return len(plain.run(entry.prompt, plan.tokens).ids)

    def _read(self, entry: Entry, group: Sequence[Method]) -> None:
        """Have the prompt in the KV cache that `group` shares; the first time is the one that is kept."""
        seconds = group[0].read(entry.prompt)
        for method in group:
            entry.first_token.setdefault(method.name, seconds)

    def _learn(self, prompt: Prompt) -> None:
        if prompt.corpus != self._learned:
            texts = read_texts(prompt.corpus)
            for engine, _ in self._engines:
                engine.use_corpus(texts)
            self._learned = prompt.corpus

    def _out_of_time(self, plan: Plan) -> bool:
        return plan.deadline is not None and time.monotonic() + _MARGIN * self._slowest > plan.deadline
