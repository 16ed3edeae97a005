"""Engines opened for a benchmark, measured where they were not before, and closed with it."""

from __future__ import annotations

import gc
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Timer

from velospec import CancelToken, Drafting, Engine, InstalledModel
from velospec.core.errors import CancelledError
from velospec.core.request import Mode
from velospec.models.progress import Progress
from velospec_cli.benchmark.methods import FAST, PLAIN, REFERENCE, VELOSPEC, Method, VeloSpecMethod

_MEASURE_SHARE = 0.65  # of a quick run's time that measuring may take


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for; None leaves it to the suite."""

    rounds: int | None = None
    prompts: int | None = None
    threads: int | None = None
    deadline: float | None = None  # of a quick run, on the clock of time.monotonic
    mode: Mode = Mode.EXACT


@dataclass(slots=True)
class Opener:
    """Opens engines on one model; the stack closes them. `opened` has each with how it drafts."""

    model: InstalledModel
    options: Options
    context: int
    say: Progress
    stack: ExitStack
    opened: list[tuple[Engine, Drafting]] = field(default_factory=list)

    def engine(self, mode: Mode, drafting: Drafting | None = None) -> Engine:
        """The model in memory, measured; None drafts by the best there is."""
        self.say(f"Loading {self.model.name}", 0, 0)
        engine = Engine.open(
            self.model,
            slots=1,
            context=self.context,
            threads=self.options.threads,
            mode=mode,
            remember=False,
        )
        self.stack.callback(engine.close)
        self.opened.append((engine, drafting or Drafting()))
        profile = engine.profile
        if profile is None or not profile.cost.measured:
            _measure(engine, self.options, self.say)
        # As the daemon does: what lives as long as the model is no work for the garbage collector.
        gc.collect()
        gc.freeze()
        return engine

    def ours(self, engine: Engine, *, ends: bool) -> list[Method]:
        """VeloSpec without drafts and with.

        Where exact mode decodes no row alone, plain decoding and fast mode have an engine of their own.
        """
        drafting = VeloSpecMethod(VELOSPEC, engine, speculate=True, ends=ends)
        if engine.numerics.min_rows == 1:
            return [VeloSpecMethod(PLAIN, engine, speculate=False, ends=ends), drafting]
        fast = self.engine(Mode.FAST)
        return [
            VeloSpecMethod(PLAIN, fast, speculate=False, ends=ends),
            drafting,
            VeloSpecMethod(FAST, fast, speculate=True, ends=ends),
            VeloSpecMethod(REFERENCE, engine, speculate=False, ends=ends),
        ]


def _measure(engine: Engine, options: Options, say: Progress) -> None:
    """Measure the model; in a quick run for as long as there is time, and do without it otherwise."""

    def report(done: float) -> None:
        say("Measuring this machine, once for each model", round(100 * done), 100)

    cancel = CancelToken()
    timer = None
    if options.deadline is not None:
        timer = Timer(_MEASURE_SHARE * (options.deadline - time.monotonic()), cancel.cancel)
        timer.start()
    try:
        engine.measure(report, cancel)
    except CancelledError:
        say("Measuring took too long; drafts go by typical costs", 0, 0)
    finally:
        if timer is not None:
            timer.cancel()
