"""Goes on with a draft behind the id in which it was wrong: ` += price` where `total` was offered for `sum`.

A draft that is rejected is thrown away with all that followed, though often one id alone differs: a number
that counts up, another name, another literal. The rest of it is kept, as if that id had been replaced, and
offered until it is wrong too often. Sees ids only; what the others draft it is told by the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from velospec.core.draft import EMPTY, Draft, Verdict

_MOST_SLIPS = 3  # ids in which a rest may be wrong before it is dropped, the first rejection not counted
_RUNS = 4  # classes of how many ids were right since the last slip
_PRIOR = 0.5


@dataclass(slots=True)
class _Rest:
    """A draft, and how far the text has come along it."""

    ids: tuple[int, ...]
    position: int
    slips: int = 0
    run: int = 0  # ids that were right since the last slip


class ResumeProposer:
    """The proposer `resume`. Its evidence is `_RUNS` times the slips so far, plus the run of right ids."""

    name = "resume"

    def __init__(self) -> None:
        self._rest: _Rest | None = None

    def begin(self, ids: Sequence[int]) -> None:  # noqa: ARG002  (a protocol)
        self._rest = None

    def extend(self, ids: Sequence[int]) -> None:
        rest = self._rest
        for token in ids:
            if rest is None or rest.position >= len(rest.ids) or rest.slips >= _MOST_SLIPS:
                self._rest = None
                return
            right = rest.ids[rest.position] == token
            rest.position += 1
            rest.slips, rest.run = (rest.slips, rest.run + 1) if right else (rest.slips + 1, 0)

    def propose(self, limit: int) -> Draft:
        rest = self._rest
        if rest is None or limit < 1 or rest.slips >= _MOST_SLIPS:
            return EMPTY
        ids = rest.ids[rest.position : rest.position + limit]
        evidence = _RUNS * rest.slips + min(rest.run, _RUNS - 1)
        return Draft(ids, self.name, evidence, _PRIOR) if ids else EMPTY

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def watch(self, offered: Sequence[Draft], decided: Sequence[int]) -> None:
        """Keep the rest of the draft that went right the longest, unless the present one does well."""
        if self._rest is not None and self._rest.run:
            return
        rests = [
            rest for draft in offered if draft.proposer != self.name and (rest := _rest(draft.ids, decided))
        ]
        if rests:
            _, self._rest = max(rests, key=lambda item: (item[0], len(item[1].ids) - item[1].position))


def _rest(ids: tuple[int, ...], decided: Sequence[int]) -> tuple[int, _Rest] | None:
    """How many ids were right, and the rest behind the wrong one, if all decided since agrees with it."""
    right = next(
        (i for i, (mine, theirs) in enumerate(zip(ids, decided, strict=False)) if mine != theirs), None
    )
    if (
        right is None
        or len(ids) <= len(decided)
        or ids[right + 1 : len(decided)] != tuple(decided[right + 1 :])
    ):
        return None
    return right, _Rest(ids, len(decided), run=len(decided) - right - 1)
