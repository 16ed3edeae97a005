"""What verifiers share: the protocol, and the walk along a draft that all of them make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from velospec.backends.base import Logits
from velospec.constraints.base import Constraint
from velospec.core.draft import Draft, Verdict


class Choice(NamedTuple):
    """What the target chose in one row.

    `margin` is its largest logit minus the next among the ids that could be chosen there, after penalties and
    before the temperature; infinite where no other could be. The greedy verifier gives the least that it can
    be where a constraint may forbid the runner-up: to find out takes a mask.
    """

    token: int
    margin: float


class Verifier(Protocol):
    """Decides the drafts of one request by the target's logits. Moves neither KV cache nor constraint."""

    @property
    def final(self) -> frozenset[int]:
        """Ids that make no sense in a draft: they are never chosen, or nothing follows them."""
        ...

    def decide(
        self,
        logits: Logits,
        draft: Draft,
        constraint: Constraint | None = None,
        written: Sequence[int] = (),
    ) -> Verdict:
        """The verdict on `draft`.

        Args:
            logits: float32, shape [rows, vocabulary]; row 0 follows the pending token, row i follows draft
                id i - 1. There may be more rows than draft ids (a filler); they are ignored. Left as it is.
            draft: The ids that were scored.
            constraint: Restricts every row; not moved.
            written: The ids decided for this request so far, the pending token last.

        Raises:
            BackendError: A row has no finite logit among the ids allowed there.
        """
        ...


def follow(draft: Draft, choose: Callable[[int], Choice]) -> Verdict:
    """The verdict on `draft` where `choose(i)` is the target's choice in row i.

    Rows behind the first disagreement are not asked for.
    """
    margins: list[float] = []
    for index, proposed in enumerate(draft.ids):
        token, margin = choose(index)
        margins.append(margin)
        if token != proposed:
            return Verdict(draft, index, token, tuple(margins))
    token, margin = choose(len(draft.ids))
    return Verdict(draft, len(draft.ids), token, (*margins, margin))
