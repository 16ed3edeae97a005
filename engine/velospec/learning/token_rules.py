"""Puts rules over lexemes into the tokens of a model: from the last ids to the ids that follow.

Each rule is written out as text, its context and all that the pack says will follow, and tokenized as a
whole, so that the ids are those the model sees, also where a token holds several lexemes. A rule whose
context ends inside a token is left out: a shorter context covers it. Knows no model and no request.

Memory: about 350 bytes per rule; a pack of 25,000 rules takes about 9 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from velospec.backends.base import Vocabulary
from velospec.learning.rules import Rule, RulePack, Tier

VERSION = 1
"""Of what `compile_rules` makes; another one makes kept rules invalid."""

MAX_IDS = 10
"""Ids of the longest context."""

LEAST_CHANCE = 0.35  # of the last lexeme that a rule writes
MOST_LEXEMES = 16  # the most that a rule writes


class TokenRule(NamedTuple):
    """`ids` follow, the first with the chance `chance`; none where shorter contexts are not to be asked."""

    ids: tuple[int, ...]
    tier: Tier
    chance: float


Context = tuple[int, ...]


class TokenRules:
    """The rules of one language for one vocabulary."""

    def __init__(self, rules: Mapping[Context, TokenRule]) -> None:
        """Contexts have 1 to MAX_IDS ids."""
        self._rules = dict(rules)

    def __len__(self) -> int:
        return len(self._rules)

    def find(self, ids: Sequence[int]) -> tuple[Context, TokenRule] | None:
        """The longest context that ends `ids`, and its rule."""
        tail = tuple(ids[-MAX_IDS:])
        for start in range(len(tail)):
            rule = self._rules.get(tail[start:])
            if rule is not None:
                return tail[start:], rule
        return None

    def to_data(self) -> list[Any]:
        """Plain data, to be kept."""
        return [[list(c), list(r.ids), int(r.tier), r.chance] for c, r in self._rules.items()]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> TokenRules:
        """Rebuild what `to_data` gave. Raises ValueError or TypeError on data that is not that."""
        return cls(
            {tuple(c): TokenRule(tuple(ids), Tier(level), float(chance)) for c, ids, level, chance in data}
        )


def compile_rules(pack: RulePack, vocabulary: Vocabulary) -> TokenRules:
    """The rules of `pack` in the ids of `vocabulary`."""
    found: dict[Context, tuple[int, TokenRule]] = {}
    for context, rule in pack.rules.items():
        entry = _entry(pack, vocabulary, context, rule)
        if entry is None:
            continue
        ids, compiled = entry
        known = found.get(ids)
        # Long contexts that are alike in their last ids: the one seen more often speaks for both.
        if known is None or known[0] < rule.support:
            found[ids] = rule.support, compiled
    return TokenRules({ids: compiled for ids, (_, compiled) in found.items()})


def _entry(
    pack: RulePack, vocabulary: Vocabulary, context: tuple[str, ...], rule: Rule
) -> tuple[Context, TokenRule] | None:
    written = list(pack.follow(context, least=LEAST_CHANCE, limit=MOST_LEXEMES))
    before, after = "".join(context), "".join(lexeme for lexeme, _ in written)
    ids = vocabulary.encode(before + after)
    ends = list(accumulate(len(vocabulary.piece(token)) for token in ids))
    # A SentencePiece vocabulary may begin any text with a space, which the first token then holds.
    extra = ends[-1] - len((before + after).encode())
    split = extra + len(before.encode())
    if split not in ends:
        return None
    place = ends.index(split) + 1
    known = ids[max(1 if extra else 0, place - MAX_IDS) : place]
    if not known:
        return None
    return tuple(known), TokenRule(tuple(ids[place:]), rule.tier, rule.hits / rule.support)
