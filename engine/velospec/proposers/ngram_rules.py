"""Drafts by n-gram rules mined from code: idioms that hold in many programs, and those of the workspace.

The longest context that has a rule decides, and where its ids end, the rules that apply there go on, for as
long as the draft is likely to hold. Each tier has a least length of context and a greatest length of draft.
Each rule's fate is counted, also where its draft was not scored: one that fails several times in a row rests,
longer each time, and then gets one more try; while it rests, shorter contexts do not stand in for it. Which
rules there are for a language is not known here, nor what others draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.learning.rules import Tier
from velospec.learning.token_rules import Context, TokenRule, TokenRules

LENGTHS = 16
"""Evidence is LENGTHS times the tier, plus twice the class of context length, plus 1 for a long draft.

Where the rule is the workspace's own, TIERS times LENGTHS more.
"""
TIERS = len(Tier)

_TRUST = 0.8  # how often a model does what the authors of other code did, until that is counted
_OWN_TRUST = 0.95  # how often it did what all places of the workspace do
_LONG = 4  # ids of a draft that is a long one
_LEAST_CHANCE = 0.3  # of all of a draft's ids, as the rules say
_FAILURES = 4  # in a row, until a rule rests
_REST, _LONGEST_REST = 64, 4096  # decided ids
_REACH = 16  # ids of a context, at the most
_MOST_FATES = 4096  # rules that failed lately; when there are more, all are forgotten


class TierLimits(NamedTuple):
    """What the drafts of one tier may be: so many ids at most, after so many at least."""

    draft: int
    context: int


LIMITS = {
    Tier.DETERMINISTIC: TierLimits(draft=16, context=1),
    Tier.STRONG: TierLimits(draft=8, context=2),
    Tier.FREQUENT: TierLimits(draft=4, context=3),
}


class Rules(Protocol):
    """Where rules come from: `TokenRules`, and `learning.workspace.online_rules.OnlineRules`."""

    def find(self, ids: Sequence[int]) -> tuple[Context, TokenRule] | None:
        """The longest context that ends `ids`, and its rule."""
        ...


class NgramRules:
    """The proposer `ngram`. `load` gives the rules of a language, None where there are none."""

    name = "ngram"

    def __init__(self, load: Callable[[str], TokenRules | None]) -> None:
        self._load = load
        self._tables: dict[str, TokenRules | None] = {}
        self._language = ""
        self._rules: TokenRules | None = None
        self._own: Rules | None = None  # the workspace's
        self._tail: list[int] = []
        self._offered: list[tuple[_Key, tuple[int, ...]]] = []
        self._fates: dict[_Key, _Fate] = {}
        self._clock = 0

    def use_language(self, name: str) -> None:
        """The language of the next request; one that has no rules gets no drafts."""
        self._language = name

    def use_workspace(self, rules: Rules | None) -> None:
        """The rules of the workspace of the next request."""
        self._own = rules

    def begin(self, ids: Sequence[int]) -> None:
        if self._language not in self._tables:
            self._tables[self._language] = self._load(self._language) if self._language else None
        self._rules = self._tables[self._language]
        self._offered = []
        self._tail = list(ids[-_REACH:])

    def extend(self, ids: Sequence[int]) -> None:
        self._clock += len(ids)
        self._judge(ids)
        self._tail = [*self._tail, *ids][-_REACH:]

    def propose(self, limit: int) -> Draft:
        self._offered = []
        if limit < 1:
            return EMPTY
        first, own = self._find(self._rules, self._tail), self._find(self._own, self._tail)
        # Where fewer agree, the longest match does better: that is what `corpus` drafts by.
        better = False
        if own is not None and own[1].tier >= Tier.STRONG:
            better = first is None or own[1].chance >= first[1].chance
            first = own if better else first
        if first is None:
            return EMPTY
        context, rule = first
        most = min(limit, LIMITS[rule.tier].draft)
        ids = self._write(first, most)
        tier = rule.tier + TIERS * better
        evidence = LENGTHS * tier + 2 * min((len(context) + 1) // 2, 5) + (len(ids) >= _LONG)
        trust = _OWN_TRUST if better else _TRUST
        return Draft(tuple(ids), self.name, evidence, trust * rule.chance)

    def observe(self, verdict: Verdict) -> None:
        """Nothing left to learn: `extend` has compared every draft, scored or not, with what was decided."""

    def _write(self, first: tuple[Context, TokenRule], most: int) -> list[int]:
        """The ids of one rule after another, the first given, `most` at most."""
        ids: list[int] = []
        found: tuple[Context, TokenRule] | None = first
        chance = 1.0
        while found is not None and len(ids) < most:
            context, rule = found
            chance *= rule.chance
            if ids and chance < _LEAST_CHANCE:
                break
            self._offered.append(((self._language, context), rule.ids))
            ids += rule.ids
            found = self._find(self._rules, [*self._tail, *ids])
        return ids[:most]

    def _find(self, rules: Rules | None, ids: Sequence[int]) -> tuple[Context, TokenRule] | None:
        """The rule of `rules` that applies after `ids`, if it may write."""
        found = rules.find(ids) if rules is not None else None
        if found is None:
            return None
        context, rule = found
        if not rule.ids or len(context) < LIMITS[rule.tier].context:
            return None
        fate = self._fates.get((self._language, context))
        return None if fate is not None and fate.rests_until > self._clock else found

    def _judge(self, decided: Sequence[int]) -> None:
        """Charge each rule of the last draft with what was decided where it wrote."""
        for key, ids in self._offered:
            seen = decided[: len(ids)]
            if not seen:
                break
            # What a rule says itself is its first id; the others are what the rules behind it say.
            if seen[0] == ids[0]:
                self._fates.pop(key, None)
            else:
                self._fail(key)
            if tuple(seen) != ids[: len(seen)]:
                break
            decided = decided[len(ids) :]
        self._offered = []

    def _fail(self, key: _Key) -> None:
        fate = self._fates.get(key)
        if fate is None:
            if len(self._fates) >= _MOST_FATES:
                self._fates.clear()
            fate = self._fates[key] = _Fate()
        fate.fail(self._clock)


_Key = tuple[str, Context]
"""A rule: its language and context."""


class _Fate:
    """What became of a rule since it was last right."""

    __slots__ = ("_failures", "_rest", "rests_until")

    def __init__(self) -> None:
        self.rests_until = 0  # on the clock of decided ids
        self._failures = 0
        self._rest = _REST

    def fail(self, now: int) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            self.rests_until = now + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
            self._failures = _FAILURES - 1  # back on probation
