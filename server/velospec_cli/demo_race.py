"""The race of `velospec demo`: one prompt and model, decoded plainly and with drafts, side by side.

Both decode in this process through the public API: the daemon answers one request of a model at a time, here
two have to go on by turns. Each has an engine of its own over the same mapped file, and a clock that runs
only while it is its turn, so that neither takes the other's processor. Knows nothing of how it is shown.
"""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import velospec

MODEL_ITSELF = ""
"""Stands for a proposer where no draft had the token."""

_TURN_SECONDS = 0.1
_LOOK_SECONDS = 0.1
_CONTEXT = 1024  # positions; the prompt and the answer are much shorter


@dataclass(frozen=True, slots=True)
class Token:
    """One token that was written, `at` so many seconds of its lane's own clock."""

    at: float
    text: str
    proposer: str


@dataclass(slots=True)
class Lane:
    """One side of the race; grows while it is run."""

    name: str
    speculate: bool
    tokens: list[Token] = field(default_factory=list)
    steps: int = 0
    seconds: float = 0.0  # of its own turns
    ids: tuple[int, ...] = ()  # of the whole answer, when there is one

    @property
    def tokens_per_second(self) -> float:
        return len(self.tokens) / self.seconds if self.seconds else 0.0

    @property
    def tokens_per_step(self) -> float:
        return len(self.tokens) / self.steps if self.steps else 0.0


Lanes = tuple[Lane, Lane]


def race(
    model: velospec.InstalledModel, prompt: str, *, max_tokens: int, watch: Callable[[Lanes], None]
) -> Lanes:
    """Continue `prompt` on both lanes; `watch` is called in this thread, some times a second and at the end.

    Raises VeloSpecError.
    """
    lanes = (Lane("plain", speculate=False), Lane("with drafts", speculate=True))
    engines = [velospec.Engine.open(model, slots=1, context=_CONTEXT, remember=False) for _ in lanes]
    try:
        turns = _Turns(len(lanes))
        runners = [
            _Runner(place, lane, engine, turns)
            for place, (lane, engine) in enumerate(zip(lanes, engines, strict=True))
        ]
        for runner in runners:
            runner.read(prompt)
        _run(runners, turns, prompt, max_tokens, lambda: watch(lanes))
    finally:
        for engine in engines:
            engine.close()
    return lanes


def _run(
    runners: Sequence[_Runner], turns: _Turns, prompt: str, max_tokens: int, look: Callable[[], None]
) -> None:
    """Have all runners run, each in a thread of its own, until all have ended or one has failed."""
    threads = [threading.Thread(target=runner.run, args=(prompt, max_tokens)) for runner in runners]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK_SECONDS)
                look()
    finally:
        for runner in runners:
            runner.cancel.cancel()
        turns.call_off()
        for thread in threads:
            thread.join()
    for runner in runners:
        if runner.error is not None:
            raise runner.error


class _Turns:
    """Who may decode: one lane at a time, in order; a lane that has ended is left out."""

    def __init__(self, count: int) -> None:
        self._running = list(range(count))
        self._changed = threading.Condition()
        self._off = False

    def wait(self, place: int) -> None:
        """Return when it is the turn of `place`."""
        with self._changed:
            self._changed.wait_for(lambda: self._off or self._running[0] == place)

    def end(self, place: int, *, for_good: bool = False) -> None:
        """Let the next one have its turn."""
        with self._changed:
            self._running.remove(place)
            if not for_good:
                self._running.append(place)
            self._changed.notify_all()

    def call_off(self) -> None:
        """Let everybody go on, to see that they are cancelled."""
        with self._changed:
            self._off = True
            self._changed.notify_all()


class _Runner:
    """Decodes one lane, and stops inside a step's end to wait for its turn."""

    def __init__(self, place: int, lane: Lane, engine: velospec.Engine, turns: _Turns) -> None:
        self.cancel = velospec.CancelToken()
        self.error: BaseException | None = None
        self._place, self._lane, self._engine, self._turns = place, lane, engine, turns
        self._since = self._turn_began = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, prompt: str) -> None:
        """Have the prompt in the cache: reading takes both lanes the same time, and is not shown."""
        self._engine.generate(self._request(prompt, 1), self.cancel)

    def run(self, prompt: str, max_tokens: int) -> None:
        """The whole lane. What goes wrong is kept in `error`."""
        self._turns.wait(self._place)
        self._since = self._turn_began = time.perf_counter()
        try:
            request = self._request(prompt, max_tokens)
            completion = self._engine.generate(request, self.cancel, on_step=self._on_step)
            self._lane.ids = completion.token_ids
            del self._lane.tokens[len(completion.token_ids) :]  # what the last step decided behind the end
        except BaseException as error:  # noqa: BLE001 - whatever it is, the thread that waits raises it
            self.error = error
        finally:
            self._turns.end(self._place, for_good=True)

    def _request(self, prompt: str, max_tokens: int) -> velospec.TextRequest:
        limits = velospec.Limits(max_tokens=max_tokens)
        return velospec.TextRequest("race", prompt, limits, speculate=self._lane.speculate)

    def _on_step(self, step: velospec.Step) -> None:
        now = time.perf_counter()
        lane, verdict = self._lane, step.verdict
        lane.seconds += now - self._since
        lane.steps += 1
        for index, token in enumerate(verdict.ids):
            drafted = index < verdict.accepted
            text = self._decoder.decode(self._engine.piece(token))
            lane.tokens.append(Token(lane.seconds, text, verdict.draft.proposer if drafted else MODEL_ITSELF))
        if now - self._turn_began >= _TURN_SECONDS:
            self._turns.end(self._place)
            self._turns.wait(self._place)
            self._turn_began = time.perf_counter()
        self._since = time.perf_counter()
