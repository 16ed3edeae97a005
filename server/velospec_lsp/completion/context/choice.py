"""Which pieces are shown at a place: those that have many words in common with it, the same until it moves.

A prompt is read anew from the first thing that differs. So what was chosen for a place stays chosen while the
cursor stays near, and what is still of use at the next place keeps its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from velospec_lsp.completion.context.pieces import Piece, lines_of, shared_lines, shared_words, words_of
from velospec_lsp.completion.site import Site

MOST = 2  # pieces at a time
_ENOUGH = 0.3  # share of words; docs/context.md shows that less is of no use, and can do harm
_STILL = 0.25  # of a piece that is shown already
_NOTHING_NEW = 0.5  # share of lines: the model would write again what stands there
_BEFORE, _AFTER = 700, 200  # characters around the cursor that tell what is written there
_VIEW_BEFORE, _VIEW_AFTER = 2400, 900  # those that the model sees anyway


@dataclass(frozen=True, slots=True)
class Place:
    """What is compared with: the words next to the cursor, and the lines that the model sees anyway."""

    words: int
    lines: frozenset[str]

    @classmethod
    def of(cls, site: Site) -> Place:
        return cls(
            words_of(site.prefix[-_BEFORE:] + "\n" + site.suffix[:_AFTER]),
            lines_of(site.prefix[-_VIEW_BEFORE:] + "\n" + site.suffix[:_VIEW_AFTER]),
        )

    def rates(self, piece: Piece) -> float:
        """How much `piece` has in common with the place."""
        return shared_words(self.words, piece.words)

    def knows(self, piece: Piece) -> bool:
        """Whether `piece` says nothing new here."""
        return shared_lines(self.lines, piece.lines) > _NOTHING_NEW


def choose(
    place: Place,
    pieces: Iterable[Piece],
    shown: Sequence[Piece] = (),
    allows: Callable[[Piece], bool] = lambda _: True,
) -> tuple[Piece, ...]:
    """The pieces for `place`, at most MOST: those `shown` that are still of use, then of `pieces` the best.

    `allows` is asked of those only that could be chosen. What is shown already stands first: so it is not
    read again, and it is what a model with little room is shown.
    """
    new: list[Piece] = []
    kept = [piece for piece in shown if place.rates(piece) >= _STILL and not place.knows(piece)]
    rated = [(rate, piece) for piece in pieces if (rate := place.rates(piece)) >= _ENOUGH]
    rated.sort(key=lambda pair: -pair[0])  # of equals, what comes first is nearer
    for _, piece in rated:
        if len(kept) + len(new) >= MOST:
            break
        new_here = not place.knows(piece) and not any(_alike(piece, other) for other in (*kept, *new))
        if new_here and allows(piece):
            new.append(piece)
    return (*kept, *new)


def _alike(one: Piece, other: Piece) -> bool:
    return one.overlaps(other) or shared_lines(one.lines, other.lines) > _NOTHING_NEW
