"""A draft and its verdict: the two values that travel between proposers, verifier and learners."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed token ids that may follow the tokens decided so far.

    `evidence` names what the proposer based it on (for `suffix`, the match length); acceptance is
    counted apart for each (proposer, evidence, position).
    """

    ids: tuple[int, ...]
    proposer: str
    evidence: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def cut(self, length: int) -> Draft:
        """The same draft, no longer than `length` ids."""
        return self if length >= len(self.ids) else Draft(self.ids[:length], self.proposer, self.evidence)


EMPTY = Draft((), "none")
"""No draft: the step decodes the pending token alone."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one draft: its first `accepted` ids equal the target's choices, `bonus` follows them.

    `bonus` is the target's own choice after the accepted ids; every step yields `accepted + 1` tokens.
    """

    draft: Draft
    accepted: int
    bonus: int

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids this step decided, in order."""
        return (*self.draft.ids[: self.accepted], self.bonus)

    @property
    def rejected(self) -> bool:
        """Whether the target disagreed inside the draft (not merely outlived it)."""
        return self.accepted < len(self.draft.ids)
