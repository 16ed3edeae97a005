"""One benchmark from an installed model to its figures: open, measure, warm up, run, add up.

A quick one is given its time, and takes as many prompts, evenly over the suite, and as many tokens of each as
fit. A model that was not measured here before is measured first, since VeloSpec drafts by what that finds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from velospec import Engine, InstalledModel, VeloSpecError
from velospec.models.progress import Progress
from velospec_cli.benchmark import structured
from velospec_cli.benchmark.machine import Watch, describe_machine, describe_model, describe_versions
from velospec_cli.benchmark.methods import Method, rivals
from velospec_cli.benchmark.opening import Opener, Options
from velospec_cli.benchmark.results import make_row, summarize
from velospec_cli.benchmark.session import WARM_PROMPT, Entry, Plan, Session
from velospec_cli.benchmark.suites.prompt import Prompt
from velospec_cli.benchmark.suites.registry import Suite, spread

_CURSOR_CONTEXT = 2048  # of an infill prompt, in tokens, with its answer
_QUICK_CURSOR_CONTEXT = 1024
_QUICK_PROMPTS = 4  # that a quick run wants to reach at the least
_QUICK_LEAST_TOKENS = 32
_METHOD_COST = 5.5  # of all methods on one prompt, in times of decoding it plainly
_STRUCTURED_COST = 16.0  # the same with the engines of each configuration, which read the prompt each
_LONGER = "Choose another suite, or another model."


@dataclass(frozen=True, slots=True)
class Outcome:
    """The JSON document, and the runs behind it."""

    document: dict[str, Any]
    entries: list[Entry]


def run_benchmark(
    suite: Suite,
    model: InstalledModel,
    options: Options,
    say: Progress,
    after: Callable[[Engine, Outcome], None] = lambda _engine, _outcome: None,
) -> Outcome:
    """Run `suite`; `after` is called with what came of it while the engine is still open.

    Raises:
        VeloSpecError: the suite or the model cannot be used.
    """
    prompts = _choose(suite, options)
    if suite.structured:
        prompts = structured.rendered(prompts, model)
    with ExitStack() as stack:
        opener = Opener(model, options, _context(suite, prompts, options), say, stack)
        engine = opener.engine(options.mode)
        methods = [*opener.ours(engine, ends=suite.ends), *_others(suite, opener, engine)]
        watch = Watch()
        warm = structured.warm_prompt(model) if suite.structured else WARM_PROMPT
        session = Session(opener.opened, methods, say, warm)
        say("Warming up", 0, 0)
        plan = _plan(suite, options, session.warm_up(), len(prompts))
        entries = session.run(prompts, plan)
        if not entries:
            raise VeloSpecError("No prompt of the suite has an output of the length that counts.", _LONGER)
        outcome = Outcome(_document(suite, engine, watch, entries, plan), entries)
        after(engine, outcome)
    return outcome


def _others(suite: Suite, opener: Opener, engine: Engine) -> list[Method]:
    """What VeloSpec is compared with; closed with the opener's stack."""
    if suite.structured:
        return structured.others(opener, engine)
    theirs, loaded = rivals(engine, context=opener.context)
    for llama in loaded:
        opener.stack.callback(llama.close)
    return theirs


def _choose(suite: Suite, options: Options) -> list[Prompt]:
    """The prompts in the order in which they are run."""
    prompts = suite.prompts()
    if suite.least > 1:  # more than are wanted, since some do not count
        return list(prompts) if options.deadline is None else _by_turns(prompts)
    chosen = spread(prompts, min(options.prompts or suite.size, len(prompts)))
    return _far_apart(chosen) if options.deadline is not None else chosen


def _by_turns(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The first prompt of each file, then the second of each, so that a few come from several files."""
    seen = Counter[str]()
    turns = []
    for prompt in prompts:
        turns.append(seen[prompt.path])
        seen[prompt.path] += 1
    return [prompt for _, prompt in sorted(zip(turns, prompts, strict=True), key=lambda pair: pair[0])]


def _far_apart(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The prompts in an order of which every beginning is spread over all of them."""
    width = max(1, (len(prompts) - 1).bit_length())
    order = sorted(range(len(prompts)), key=lambda index: f"{index:0{width}b}"[::-1])
    return [prompts[index] for index in order]


def _context(suite: Suite, prompts: Sequence[Prompt], options: Options) -> int:
    """Positions of a slot: a token stands for a byte at the least."""
    if any(prompt.after is not None for prompt in prompts):
        return _CURSOR_CONTEXT if options.deadline is None else _QUICK_CURSOR_CONTEXT
    longest = max(len(prompt.before.encode()) for prompt in prompts)
    if suite.structured:  # English and JSON, of which a token is three bytes and more
        longest //= 2
    return 256 * -(-(longest + suite.tokens) // 256)


def _plan(suite: Suite, options: Options, rate: float, prompts: int) -> Plan:
    """How much to run, at `rate` tokens per second without drafts."""
    plan = Plan(
        tokens=suite.tokens,
        rounds=options.rounds or suite.rounds,
        rival_rounds=suite.rival_rounds,
        prompts=min(options.prompts or suite.size, prompts),
        least=suite.least,
        deadline=options.deadline,
    )
    if options.deadline is None:
        return plan
    left = options.deadline - time.monotonic()
    cost = _STRUCTURED_COST if suite.structured else _METHOD_COST
    tokens = int(left * rate / (cost * min(_QUICK_PROMPTS, plan.prompts)))
    tokens = max(_QUICK_LEAST_TOKENS, min(suite.quick_tokens, tokens))
    return replace(plan, tokens=tokens, rounds=options.rounds or 1, rival_rounds=1)


def _document(
    suite: Suite, engine: Engine, watch: Watch, entries: Sequence[Entry], plan: Plan
) -> dict[str, Any]:
    rows = [make_row(entry) for entry in entries]
    summary = summarize(entries, rows)
    summary |= {"prompts": len(rows), "tokens": plan.tokens, "rounds": plan.rounds}
    machine = describe_machine(engine, watch)
    if suite.structured:
        structured.add_figures(engine, entries, rows, summary)
    return {
        "suite": suite.name,
        "machine": machine,
        "model": describe_model(engine),
        "versions": {**describe_versions(suite.libraries), **suite.data},
        "rows": rows,
        "summary": summary,
    }
