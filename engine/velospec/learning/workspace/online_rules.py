"""N-gram rules of a workspace, mined where they are asked for: what follows a context in several documents.

The places where the last ids stood before are the evidence of a rule, so that it is as new as the index, goes
with the documents that it came from, and takes no memory of its own. The longest context that was seen often
enough decides, also where what follows it there is nothing reliable. What was written later counts for more,
and what contradicts a rule lowers its chance and its tier at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from velospec.learning.rules import Tier
from velospec.learning.token_rules import Context, TokenRule
from velospec.learning.workspace.chains import FREE, ChainIndex
from velospec.learning.workspace.hashing import LENGTHS

LEAST_SUPPORT, LEAST_DOCUMENTS = 3, 2
"""Places and different documents that a context was seen in, to be the context of a rule."""
MOST_IDS = 8
"""Ids that a rule writes at the most."""

_FADING = 0.93  # of a place's weight, from each place to the next earlier one
_LEVELS = tuple(level for level, length in enumerate(LENGTHS) if length > 1)


class OnlineRules:
    """The rules of one workspace for one request, whose document is `leave`; as `TokenRules` for `ngram`."""

    def __init__(self, index: ChainIndex, leave: int = -1) -> None:
        self._index = index
        self._leave = leave

    def find(self, ids: Sequence[int]) -> tuple[Context, TokenRule] | None:
        """The longest context that ends `ids`, and its rule; without ids where nothing follows reliably."""
        index = self._index
        for level in reversed(_LEVELS):
            places = index.places(ids, level, self._leave)
            if len(places) < LEAST_SUPPORT:
                continue
            if len({index.owners[place] for place in places}) < LEAST_DOCUMENTS:
                continue
            tier, chance, best = _weigh([index.ids[place] for place in places])
            kept = [place for place in places if index.ids[place] == best]
            following = self._unanimous(kept) if tier is not Tier.NONE else []
            return tuple(ids[-LENGTHS[level] :]), TokenRule(tuple(following), tier, chance)
        return None

    def _unanimous(self, places: Sequence[int]) -> list[int]:
        """What follows at all of `places` alike, at most MOST_IDS ids."""
        ids, following = self._index.ids, list[int]()
        for ahead in range(MOST_IDS):
            token = ids[places[0] + ahead]
            if token == FREE or any(ids[place + ahead] != token for place in places):
                break
            following.append(token)
        return following


def _weigh(followers: Sequence[int]) -> tuple[Tier, float, int]:
    """Tier and chance of what followed most, and what that is; the latest comes first."""
    weights: dict[int, float] = {}
    weight = 1.0
    for follower in followers:
        weights[follower] = weights.get(follower, 0.0) + weight
        weight *= _FADING
    best = max(weights, key=weights.__getitem__)
    chance = weights[best] / sum(weights.values())
    if len(weights) == 1:
        return Tier.DETERMINISTIC, (len(followers) - 0.5) / len(followers), best
    if chance >= 0.85:
        return Tier.STRONG, chance, best
    return (Tier.FREQUENT if chance >= 0.5 else Tier.NONE), chance, best
