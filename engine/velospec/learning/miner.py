"""Mines n-gram rules from code: which lexeme follows a context of one to eight, and how reliably.

Texts come in groups, such as packages or authors, and what was not seen in several of them is no rule but
somebody's habit: neither a context nor what follows it may be rarer. Of the contexts left, a rule is kept
where it says something else than the next shorter context does: another lexeme or another tier. The same
texts make the same rules. Works on whole arrays: ten million lexemes take about a minute and 3 GB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from velospec.learning.lexemes import split
from velospec.learning.rules import MAX_CONTEXT, Rule, RulePack, Tier, tier

Ints = npt.NDArray[np.int64]

_END, _RARE, _FIRST = 0, 1, 2  # end of a text; a lexeme of too few groups; the number of the first other


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a context and its successor must have been seen, to be a rule."""

    support: int = 2  # times
    groups: int = 2  # different groups of texts


@dataclass(frozen=True, slots=True)
class _Corpus:
    words: list[str]  # by number
    ids: Ints  # of all lexemes of all texts, each text closed by _END
    groups: Ints  # of each of them, the number of its group
    group_count: int


@dataclass(frozen=True, slots=True)
class _Level:
    """All contexts of one length that are common enough.

    `classes` holds for each place the number of the context that begins there, -1 where it is too rare.
    By context: `follows`, `hits` and `support` of its rule, the `tiers`, and a place where it stands.
    """

    classes: Ints
    follows: Ints
    hits: Ints
    support: Ints
    tiers: Ints
    places: Ints


def mine(texts: Iterable[tuple[str, str]], thresholds: Thresholds | None = None) -> RulePack:
    """The rules of `texts`, which are pairs of a group's name and a text."""
    wanted = thresholds or Thresholds()
    corpus = _read(texts, wanted)
    rules: dict[tuple[str, ...], Rule] = {}
    classes = np.where(corpus.ids >= _FIRST, corpus.ids, -1)
    shorter: _Level | None = None
    for length in range(1, MAX_CONTEXT + 1):
        level, classes = _mine_level(corpus, classes, length, wanted)
        for index in _telling(level, shorter).tolist():
            place = int(level.places[index])
            context = tuple(corpus.words[i] for i in corpus.ids[place : place + length].tolist())
            follows = corpus.words[int(level.follows[index])]
            rules[context] = Rule(follows, int(level.hits[index]), int(level.support[index]))
        shorter = level
    return RulePack(rules)


def _read(texts: Iterable[tuple[str, str]], wanted: Thresholds) -> _Corpus:
    """Number the lexemes in the order of their text, so that the order of files does not matter."""
    numbers: dict[str, int] = {}
    group_numbers: dict[str, int] = {}
    parts, groups = [], []
    for group, text in texts:
        # A text begins as a line does: what stands at its start then stands behind a newline.
        part = [numbers.setdefault(lexeme, len(numbers)) for lexeme in split("\n" + text)]
        parts.append(np.array([*part, -1], np.int64))
        groups.append(np.full(len(part) + 1, group_numbers.setdefault(group, len(group_numbers)), np.int64))
    words = sorted(numbers)
    rank = np.empty(len(words) + 1, np.int64)
    rank[[numbers[word] for word in words]] = np.arange(_FIRST, len(words) + _FIRST)
    rank[-1] = _END
    ids = rank[np.concatenate(parts)] if parts else np.zeros(0, np.int64)
    owners = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    count = max(1, len(group_numbers))
    spread = np.bincount(np.unique(ids * count + owners) // count, minlength=len(words) + _FIRST)
    ids[(spread[ids] < wanted.groups) & (ids >= _FIRST)] = _RARE
    return _Corpus(["", "", *words], ids, owners, count)


def _mine_level(corpus: _Corpus, classes: Ints, length: int, wanted: Thresholds) -> tuple[_Level, Ints]:
    """The contexts of `length` lexemes, and by place the numbers of the longer ones made of them."""
    ids, contexts = corpus.ids, int(classes.max(initial=-1)) + 1
    places = np.flatnonzero(classes[: len(ids) - length] >= 0)
    width = len(corpus.words)
    pairs, inverse, hits = np.unique(
        classes[places] * width + ids[places + length], return_inverse=True, return_counts=True
    )
    spread = np.unique(inverse * corpus.group_count + corpus.groups[places]) // corpus.group_count
    context, follower = np.divmod(pairs, width)
    common = (follower >= _FIRST) & (hits >= wanted.support)
    common &= np.bincount(spread, minlength=len(pairs)) >= wanted.groups
    # The most frequent follower of each context, of equals the first: `pairs` are in order.
    ranking = np.lexsort((-hits, context))
    ranking = ranking[common[ranking]]
    best = ranking[np.unique(context[ranking], return_index=True)[1]]
    follows, best_hits = np.zeros(contexts, np.int64), np.zeros(contexts, np.int64)
    follows[context[best]], best_hits[context[best]] = follower[best], hits[best]
    support = np.bincount(classes[places], minlength=contexts)
    tiers = np.array(
        [tier(h, s) for h, s in zip(best_hits.tolist(), support.tolist(), strict=True)], np.int64
    )
    follows[tiers == Tier.NONE] = 0
    best_hits[tiers == Tier.NONE] = 0
    first = np.full(contexts, -1, np.int64)
    first[classes[places][::-1]] = places[::-1]
    numbers = np.where(common, np.cumsum(common) - 1, -1)
    longer = np.full(len(ids), -1, np.int64)
    longer[places] = numbers[inverse]
    return _Level(classes, follows, best_hits, support, tiers, first), longer


def _telling(level: _Level, shorter: _Level | None) -> Ints:
    """The contexts whose rule is another than that of the same context without its first lexeme."""
    seen = np.flatnonzero(level.places >= 0)
    if shorter is None:
        return seen[level.tiers[seen] > Tier.NONE]
    same = shorter.classes[level.places[seen] + 1]
    differs = (level.follows[seen] != shorter.follows[same]) | (level.tiers[seen] != shorter.tiers[same])
    telling: Ints = seen[differs]
    return telling
