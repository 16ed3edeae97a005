"""A draft and its verdict: the two values that travel between proposers, verifier and learners."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed token ids that may follow the tokens decided so far.

    `evidence` is a small number for what the proposer based it on (for `suffix`, how long the match is and
    whether earlier ones agree); acceptance is counted apart for each (proposer, evidence, position). `prior`
    is the proposer's own guess, 0 to 1, that the first id is accepted, for as long as little was counted.
    Where the ids of one draft rest on different things, `guesses` has evidence and prior of each.
    """

    ids: tuple[int, ...]
    proposer: str
    evidence: int = 0
    prior: float = 0.5
    guesses: tuple[
        tuple[int, float], ...
    ] = ()  # for each id: evidence, and the chance if those before are right

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, length: int) -> Draft:
        """The same draft, no longer than `length` ids."""
        return self if length >= len(self.ids) else replace(self, ids=self.ids[:length])


EMPTY = Draft((), "none")
"""No draft: the step decodes the pending token alone."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one draft: its first `accepted` ids equal the target's choices, `bonus` follows them.

    `bonus` is the target's own choice after the accepted ids; every step yields `accepted + 1` tokens.
    `margins` says for each of these how sure the target was: its largest logit minus the next.
    """

    draft: Draft
    accepted: int
    bonus: int
    margins: tuple[float, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids this step decided, in order."""
        return (*self.draft.ids[: self.accepted], self.bonus)

    @property
    def rejected(self) -> bool:
        """Whether the target disagreed inside the draft (not merely outlived it)."""
        return self.accepted < len(self.draft.ids)
