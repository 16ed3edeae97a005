"""The proposer protocol: draft what may come next, and learn from what became of it.

A proposer sees token ids only. It is told every id that is decided, in order, and so keeps its own
incremental state; it never sees logits, text, the KV cache or another proposer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from velospec.core.draft import Draft, Verdict
from velospec.core.price import Price


class Proposer(Protocol):
    """One source of drafts."""

    name: str

    def begin(self, ids: Sequence[int]) -> None:
        """Start a request whose prompt is `ids`. Forgets the request before."""
        ...

    def extend(self, ids: Sequence[int]) -> None:
        """Take note of newly decided `ids`; amortised O(1) per id."""
        ...

    def propose(self, limit: int) -> Draft:
        """The best draft of at most `limit` ids after what was decided so far; EMPTY if there is none."""
        ...

    def observe(self, verdict: Verdict) -> None:
        """Take note of what became of a draft of this proposer."""
        ...


@runtime_checkable
class LanguageAware(Protocol):
    """What a proposer that drafts differently by language has besides."""

    def use_language(self, name: str) -> None:
        """The language of the next request, one of `syntax_rules.LANGUAGES`, empty where it has no rules.

        Told before each `begin`.
        """
        ...


class GrammarView(Protocol):
    """What a proposer may ask of the grammar; `constraints.base.GrammarCursor` is one."""

    key: Hashable
    """The same for all answers of one grammar; None where that is not known."""

    before: bytes
    """The text that stands there already, and that the grammar begins with."""

    @property
    def slow_masks(self) -> bool:
        """Whether `allowed` takes so long that it had better not be asked."""
        ...

    def valid(self, ahead: Sequence[int], ids: Sequence[int]) -> int:
        """How many of `ids` are allowed behind the allowed ids `ahead`, counted from the first."""
        ...

    def allows(self, ahead: Sequence[int], token: int) -> bool:
        """Whether `token` is allowed after what was decided so far and the allowed ids `ahead`."""
        ...

    def allowed(self, ahead: Sequence[int]) -> npt.NDArray[np.int32] | None:
        """The sorted ids allowed there; None if all are."""
        ...

    def forced(self, ahead: Sequence[int] = ()) -> bytes:
        """The bytes that every continuation begins with; empty where there is a choice at once."""
        ...


@runtime_checkable
class GrammarAware(Protocol):
    """What a proposer that drafts by the grammar of the request has besides."""

    def use_grammar(self, grammar: GrammarView | None) -> None:
        """The grammar of the next request, moved by the loop before `extend`; told before each `begin`."""
        ...


@runtime_checkable
class Costly(Protocol):
    """What a proposer has besides that drafts only where its own time pays; it comes after all others."""

    def consider(self, best: Draft, context: int, left: int) -> None:
        """Told before each `propose`: what would be scored without it, positions in the cache, ids to write.

        `best` is EMPTY where there is nothing else.
        """
        ...


class Priced(Proposer, Protocol):
    """A proposer that says what it costs, for someone else to judge when to ask it."""

    def price(self) -> Price:
        """What the next draft would cost. A few microseconds."""
        ...


@runtime_checkable
class Watching(Protocol):
    """What a proposer that makes use of other proposers' drafts has besides."""

    def watch(self, offered: Sequence[Draft], decided: Sequence[int]) -> None:
        """What was on offer in a step, uncut, and the ids that were decided; told after `extend`."""
        ...
