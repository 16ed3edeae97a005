"""Decoding speed with and without drafts: the same prompts, the same model, in turns in one run.

Everything goes through the daemon, as completions do. Prefill is not counted: drafts do not change it.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from velospec.core.request import Completion, Limits, TextRequest

if TYPE_CHECKING:
    from velospec.daemon.client import DaemonClient

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Speed:
    """One prompt: tokens per second (medians over the rounds) and whether the outputs were the same."""

    name: str
    plain: float
    speculative: float
    tokens: int
    tokens_per_step: float
    accepted: float  # share of the drafted tokens
    identical: bool

    @property
    def ratio(self) -> float:
        return self.speculative / self.plain if self.plain else 0.0


def beginning(text: str) -> str:
    """The first two thirds of a file's lines: after a whole file a model has little left to say."""
    lines = text.splitlines()
    return "\n".join(lines[: max(1, 2 * len(lines) // 3)]).rstrip()


async def compare(
    client: DaemonClient, prompts: list[tuple[str, str]], *, model: str, max_tokens: int
) -> AsyncIterator[Speed]:
    """Continues each (name, prompt) plainly and with drafts, in turns, for `max_tokens` tokens.

    Yields the result of each prompt as it is there. Raises VeloSpecError.
    """
    for name, prompt in prompts:
        runs: dict[bool, list[Completion]] = {False: [], True: []}
        await _continue(client, prompt, model, max_tokens=8, speculate=False)  # fills the KV cache
        for turn in range(ROUNDS):
            for speculate in (False, True) if turn % 2 == 0 else (True, False):
                run = await _continue(client, prompt, model, max_tokens=max_tokens, speculate=speculate)
                runs[speculate].append(run)
        yield _speed(name, runs[False], runs[True])


async def _continue(
    client: DaemonClient, prompt: str, model: str, *, max_tokens: int, speculate: bool
) -> Completion:
    limits = Limits(max_tokens=max_tokens)
    request = TextRequest("velospec-demo:speed", prompt, limits=limits, speculate=speculate)
    return await client.generate(request, model=model)


def _speed(name: str, plain: list[Completion], speculative: list[Completion]) -> Speed:
    total = speculative[0].statistics
    for run in speculative[1:]:
        total = total + run.statistics
    return Speed(
        name,
        plain=statistics.median(run.statistics.tokens_per_second for run in plain),
        speculative=statistics.median(run.statistics.tokens_per_second for run in speculative),
        tokens=len(plain[0].token_ids),
        tokens_per_step=total.new_tokens / total.steps if total.steps else 0.0,
        accepted=total.acceptance_rate,
        identical=len({run.token_ids for run in plain + speculative}) == 1,
    )
