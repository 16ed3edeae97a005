"""Whether a proposer whose drafts take time is asked at all, and for how many ids.

It is asked where a draft of the usual quality, its own time included, is expected to bring more tokens per
second than the best draft that is there for nothing. How good its drafts are is known only from those that
were asked for. So that a first impression, or another kind of text, does not decide for ever, it is also
asked now and then where it would pay only if it did better than it did so far; all of this together takes a
small share of the time. Knows no ids.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from velospec.control.acceptance import scale_odds
from velospec.control.policy import Cost, Estimate
from velospec.control.selector import CAUTION
from velospec.core.draft import Draft
from velospec.core.price import Price

EXPLORATION = 0.01
"""Share of all time that may go into drafts which are asked for only to learn how good they are."""

_POSITIONS = 16  # positions from the last one on share one count
_PRIOR, _PRIOR_LATER = 0.6, 0.75  # chances of the first id and of later ones while nothing was counted
_WEIGHT = 4.0  # drafts that these priors count for
_MEMORY = 0.98  # what a draft leaves of the counts before it
_FADING = 0.995  # what a step without one leaves of them: doubt grows, and with it the reason to try again
_ERRORS = 2.0  # standard errors by which a chance may turn out better
_AT_ONCE = 8  # drafts that have to be affordable before anything is read for them
_MOST_SAVED = 1.0  # seconds that are saved up at most: to read a long text takes as much
_AHEAD = 0.5  # share of the tokens that may still be written which is counted on


class Worth:
    """Judges one costly proposer; shares the acceptance and the cost of the selector."""

    def __init__(self, acceptance: Estimate, cost: Cost, *, min_rows: int = 1) -> None:
        self._acceptance = acceptance
        self._cost = cost
        self._min_rows = min_rows
        self._seen = [0.0] * _POSITIONS
        self._accepted = [0.0] * _POSITIONS
        self._saved_up = 0.0  # seconds that exploring may take
        self._asked = 0  # ids, in this step
        self._exploring = False  # whether that was only to learn

    def length(self, price: Price, best: Draft, *, context: int, limit: int, left: int) -> int:
        """How many ids to ask for, at most `limit`; 0 where it does not pay.

        `best` is what would be scored without it, `left` the number of ids that may still be written.
        """
        self._asked, self._exploring = 0, False
        rate = self._rate_of(best, context)
        seconds = [self._seconds(rows, context) + price.seconds(rows - 1) for rows in range(2, limit + 2)]
        length, gain = _best_length(self._chances(0.0), seconds)
        if gain > rate and left * _AHEAD * (1 / rate - 1 / gain) > price.unread:
            self._asked = length
            return length
        length, gain = _best_length(self._chances(_ERRORS), seconds)
        # What it takes to read what is unread would be wasted on a single draft.
        drafts = _AT_ONCE if price.unread else 1
        if gain > rate and price.unread + drafts * price.seconds(length) <= self._saved_up:
            self._asked, self._exploring = length, True
        return self._asked

    def observe(self, draft: Draft, decided: Sequence[int], seconds: float, spent: float) -> None:
        """Take note of a step of `seconds` that decided the ids `decided`; `spent` of them went into asking.

        `draft` is what came of that: EMPTY where it was not asked, or had nothing to offer yet.
        """
        saved = EXPLORATION * seconds - (spent if self._exploring else 0.0)
        self._saved_up = min(self._saved_up + saved, _MOST_SAVED)
        if not self._asked:
            self._seen = [_FADING * count for count in self._seen]
            self._accepted = [_FADING * count for count in self._accepted]
        for position in range(min(self._asked, len(draft) + 1) if draft.ids else 0):
            ended = position == len(draft)
            if not ended and position >= len(decided):
                return  # not scored that far
            accepted = not ended and draft.ids[position] == decided[position]
            index = min(position, _POSITIONS - 1)
            self._seen[index] = self._seen[index] * _MEMORY + 1
            self._accepted[index] = self._accepted[index] * _MEMORY + accepted
            if not accepted:
                return

    def _rate_of(self, draft: Draft, context: int) -> float:
        """Tokens per second of scoring `draft`, which is there already."""
        survival = expected = 1.0
        for chance in self._acceptance.walk(draft):
            survival *= scale_odds(chance, CAUTION)
            expected += survival
        return expected / self._seconds(len(draft) + 1, context)

    def _seconds(self, rows: int, context: int) -> float:
        return self._cost.seconds(max(rows, self._min_rows), context)

    def _chances(self, errors: float) -> list[float]:
        """Of each position, to be there and accepted if all before were; `errors` standard errors better."""
        result = []
        for position, (seen, accepted) in enumerate(zip(self._seen, self._accepted, strict=True)):
            prior = _PRIOR if position == 0 else _PRIOR_LATER
            weight = seen + _WEIGHT
            chance = (accepted + _WEIGHT * prior) / weight
            better = chance + errors * math.sqrt(chance * (1 - chance) / weight)
            result.append(min(better, 1.0))
        return result


def _best_length(chances: Sequence[float], seconds: Sequence[float]) -> tuple[int, float]:
    """The length with the most tokens per second, where `seconds[i]` is for a draft of i + 1; and these."""
    survival = expected = 1.0
    best_length, best_rate = 1, 0.0
    for length, (chance, time) in enumerate(zip(chances, seconds, strict=False), start=1):
        survival *= chance
        expected += survival
        if expected > best_rate * time:
            best_length, best_rate = length, expected / time
    return best_length, best_rate
