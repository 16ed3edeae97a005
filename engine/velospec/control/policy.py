"""The protocol of what chooses: of all drafts on offer the one to score, and how much of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from velospec.core.draft import Draft, Verdict


class Cost(Protocol):
    """What a batch costs; `control.cost_model.CostModel` is the measured one."""

    def seconds(self, rows: int, context: int = 0) -> float: ...

    def observe(self, rows: int, context: int, seconds: float) -> None: ...


class Estimate(Protocol):
    """How likely drafts are to be accepted; `control.acceptance.Acceptance` is one."""

    def begin(self) -> None:
        """A request begins."""
        ...

    def look(self, density: float) -> None:
        """The next step stands where the grammar allows this share of the vocabulary; see `Policy.look`."""
        ...

    def walk(self, draft: Draft, offered: Sequence[Draft] = ()) -> Iterator[float]:
        """The chance of each id of `draft` to be accepted if all before it are, made as it is asked for.

        `offered` are all drafts of this step.
        """
        ...

    def learn(self, offered: Sequence[Draft], verdict: Verdict) -> None:
        """Take note of a step: what was on offer, and what was decided."""
        ...


class Policy(Protocol):
    """One way to choose. It sees drafts and verdicts, never text or logits."""

    cost: Cost
    exact_density: bool
    """Whether `look` is to be told the share exactly, which takes a mask, not just where text is forced."""

    def begin(self) -> None:
        """A request begins."""
        ...

    def look(self, density: float) -> None:
        """The next step stands where the grammar allows this share of the vocabulary; 1 without one."""
        ...

    def choose(self, drafts: Sequence[Draft], context: int = 0) -> Draft:
        """One of `drafts`, cut to the length that is to be scored; EMPTY for none.

        `context` is the number of positions in the KV cache. May be asked more than once in a step.
        """
        ...

    def observe(self, drafts: Sequence[Draft], verdict: Verdict, context: int, seconds: float) -> None:
        """Take note of what was decided after `drafts` were offered, and of the seconds that scoring took."""
        ...

    def spent(self, seconds: float) -> None:
        """Take note of what a step took beside scoring."""
        ...
