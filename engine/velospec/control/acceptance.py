"""How likely the target is to accept a draft's next id, learned online.

A logistic regression over what is known before the id is scored: the proposer's own guess, its evidence and
the position; whether other drafts on offer say the same or something else; the class of the id and, in this
process only, the id itself; how many of the last ids were foreseen by anyone; how sure the target has been
(`entropy_gate`); what share of completions the user takes; and, under a grammar, what share of the vocabulary
that allows. Every draft on offer
teaches, also one that was not scored or was cut short, since it is compared with what the target decided.
Weights begin with shipped values and never stop learning, so that the estimate follows the text at hand.
Knows no costs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from velospec.control.entropy_gate import REACHES, EntropyGate
from velospec.control.weights import MEMORY, Weight, Weights, chance_of, logit_of
from velospec.core.draft import Draft, Verdict
from velospec.core.ids import common_length

_PLACES = (0, 1, 2, 3, 4, 4, 5, 5, 5, 6)  # classes of the position; later ones share the last
# Each id accepted is evidence for the next: what a proposer that nothing was shipped for gains by place.
_GROWTH = (0.0, 0.5, 0.9, 1.3, 1.7, 2.2, 2.8)
_MOST_TOLD = 3  # drafts that say the same, or another thing: more count as so many
_DENSITIES = (0.0005, 0.005, 0.02, 0.1, 0.5, 0.9)  # bounds of the classes of the grammar's density
_LEVELS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)  # bounds of the classes of the share of ids foreseen
_TAKEN = (0.1, 0.3, 0.5, 0.7)  # bounds of the classes of the share that the user takes
_RECENT = 0.8  # what an id leaves of that share before it
_ID_FIRMNESS = 3.0  # an id differs from its class sooner than a class from all
MOST_IDS = 4096
"""Ids remembered of one proposer, about 150 bytes each; when there are more, all are forgotten."""


_Evidence = tuple[float, list[Weight]]


class Acceptance:
    """Acceptance estimates of all proposers of an engine."""

    def __init__(
        self,
        shipped: Mapping[str, float] | None = None,
        *,
        classes: Sequence[int] = (),
        gate: bool = True,
        memory: float = MEMORY,
    ) -> None:
        """Start from nothing, or from `shipped` weights (`priors.shipped`).

        `classes` has the class of each id of the vocabulary (`token_class`); `gate` opens the entropy gate.
        `memory` is for fitting.
        """
        self._weights = Weights(shipped, memory=memory)
        self._classes = classes
        self._gate = EntropyGate(self._weights, enabled=gate)
        self._sources: dict[str, _Source] = {}
        told = range(_MOST_TOLD + 1)
        self._relations = [
            [[self._weights.get(f"told {later} {same} {other}") for other in told] for same in told]
            for later in range(2)
        ]
        self._foreseen = [
            [self._weights.get(f"foreseen {level} {reach}") for reach in range(REACHES)]
            for level in range(len(_LEVELS) + 1)
        ]
        self._densities = [
            [self._weights.get(f"density {level} {reach}") for reach in range(REACHES)]
            for level in range(len(_DENSITIES) + 1)
        ]
        self._taken: list[Weight] = []
        self.begin()

    def use_reception(self, share: float | None) -> None:
        """The user takes this share of what completions offer, 0 to 1; None while that is not known.

        Told before `begin`. A class of shares has a weight like anything else that is known of a place.
        """
        level = None if share is None else bisect_right(_TAKEN, share)
        reaches = range(0 if level is None else REACHES)
        self._taken = [self._weights.get(f"taken {level} {reach}") for reach in reaches]

    def begin(self) -> None:
        """A request begins: what was noted of the text before holds no longer."""
        # What was estimated in this step, by the draft's identity: learning needs it again.
        self._estimated: dict[tuple[int, ...], _Estimate] = {}
        self._density = 1.0
        self._share = math.nan  # of the last ids that a draft on offer foresaw
        self._gate.begin()
        self._look_around()

    def look(self, density: float) -> None:
        """The next step stands where the grammar allows this share of the vocabulary; 1 without one."""
        if density != self._density:
            self._density = density
            self._look_around()

    def chances(self, draft: Draft, offered: Sequence[Draft] = ()) -> list[float]:
        """The chance, 0 to 1, of each id of `draft` to be accepted if all before it are. About 1 us an id.

        `offered` are all drafts of this step; what the others say counts.
        """
        return list(self.walk(draft, offered))

    def walk(self, draft: Draft, offered: Sequence[Draft] = ()) -> Iterator[float]:
        """As `chances`, each made when it is asked for."""
        return self._estimate(draft, offered).chances()

    def observe(self, draft: Draft, decided: Sequence[int], offered: Sequence[Draft] = ()) -> None:
        """Take note that the target decided `decided` where `draft` was offered, scored or not."""
        estimate = self._estimate(draft, offered)
        chances = estimate.chances()
        source = self._source(draft.proposer)
        for position, (proposed, choice) in enumerate(zip(draft.ids, decided, strict=False)):
            chance = next(chances)
            known = estimate.known[position]
            accepted = proposed == choice
            surprise, variance = accepted - chance, chance * (1 - chance)
            for weight in known:
                weight.learn(surprise, variance)
            source.id(proposed).learn(surprise, variance)
            if not accepted:
                break
        self._estimated.pop(_key(draft, offered))
        source.bound()

    def learn(self, offered: Sequence[Draft], verdict: Verdict) -> None:
        """Take note of a step: what was on offer, and what was decided."""
        decided = verdict.ids
        for draft in offered:
            self.observe(draft, decided, offered)
        if offered:
            self._note_foreseen(max(common_length(draft.ids, decided) for draft in offered), len(decided))
        self._gate.note(verdict.margins)
        self._estimated.clear()
        self._look_around()

    def forget_ids(self) -> None:
        """Forget single ids, so that what remains is what is kept."""
        for source in self._sources.values():
            source.forget_ids()

    def to_dict(self) -> dict[str, Any]:
        """What was learned, JSON-ready. Nothing of single ids: that would tell what the text said."""
        return self._weights.to_dict()

    def restore(self, data: Mapping[str, Iterable[float]]) -> None:
        """Go on from what `to_dict` gave. Raises ValueError or TypeError on anything else."""
        self._weights.restore(data)

    def _estimate(self, draft: Draft, offered: Sequence[Draft]) -> _Estimate:
        key = _key(draft, offered)
        estimate = self._estimated.get(key)
        if estimate is None:
            estimate = _Estimate((draft, *offered), self._evidence(draft, offered))
            self._estimated[key] = estimate
        return estimate

    def _evidence(self, draft: Draft, offered: Sequence[Draft]) -> Iterator[_Evidence]:
        """For each id of `draft`: fixed log odds, which hold what its own weight says, and other weights."""
        source = self._source(draft.proposer)
        base, row = logit_of(draft.prior), source.row(draft.evidence)
        guesses = draft.guesses
        live = [other.ids for other in offered if other is not draft and other.ids]
        for position, token in enumerate(draft.ids):
            if guesses:  # each says for itself what the place says of others
                evidence, prior = guesses[position]
                base, known = logit_of(prior), [source.row(evidence)]
            else:
                known = [row, source.place(position)]
            known += self._around[min(position, REACHES - 1)]
            if live:
                count = len(live)
                live = [ids for ids in live if ids[position] == token]
                known.append(_told(self._relations[position > 0], len(live), count - len(live)))
                live = [ids for ids in live if len(ids) > position + 1]
            if token < len(self._classes):
                known.append(source.classes[self._classes[token]])
            yield base + source.known(token), known

    def _note_foreseen(self, right: int, decided: int) -> None:
        share = 0.6 if math.isnan(self._share) else self._share
        share = 1 - (1 - share) * _RECENT**right
        self._share = share if right >= decided else share * _RECENT

    def _look_around(self) -> None:
        """Put together what is known of the place in the text, for each reach."""
        known = not math.isnan(self._share)
        foreseen = self._foreseen[bisect_right(_LEVELS, self._share)] if known else []
        dense = self._densities[bisect_right(_DENSITIES, self._density)] if self._density < 1 else []
        others = (foreseen, dense, self._taken)
        self._around = [
            [*self._gate.weights(reach), *(weight for each in others for weight in each[reach : reach + 1])]
            for reach in range(REACHES)
        ]

    def _source(self, proposer: str) -> _Source:
        source = self._sources.get(proposer)
        if source is None:
            source = self._sources[proposer] = _Source(proposer, self._weights)
        return source


def _key(draft: Draft, offered: Sequence[Draft]) -> tuple[int, ...]:
    return (id(draft), *map(id, offered))


def scale_odds(chance: float, factor: float) -> float:
    """The chance whose odds are `factor` > 0 times those of `chance`, which lies between 0 and 1."""
    part = chance * factor
    return part / (1 - chance + part)


class _Estimate:
    """What was estimated of one draft in this step, as far as it was asked for."""

    __slots__ = ("_chances", "_drafts", "_evidence", "known")

    def __init__(self, drafts: tuple[Draft, ...], evidence: Iterator[_Evidence]) -> None:
        self._drafts = drafts  # they live as long as this, so that their identities are their own
        self._evidence = evidence
        self._chances: list[float] = []
        self.known: list[list[Weight]] = []  # the weights behind each chance but that of the single id

    def chances(self) -> Iterator[float]:
        yield from self._chances
        for base, known in self._evidence:
            chance = chance_of(base + sum([weight.value for weight in known]))
            self._chances.append(chance)
            self.known.append(known)
            yield chance


class _Source:
    """The weights of one proposer."""

    def __init__(self, proposer: str, weights: Weights) -> None:
        self._name = proposer
        self._weights = weights
        self._rows: dict[int, Weight] = {}
        self._ids: dict[int, Weight] = {}
        self._places = [weights.get(f"place {proposer} {i}", gain) for i, gain in enumerate(_GROWTH)]
        self.classes = [weights.get(f"class {proposer} {kind}") for kind in range(11)]

    def row(self, evidence: int) -> Weight:
        row = self._rows.get(evidence)
        if row is None:
            row = self._rows[evidence] = self._weights.get(f"evidence {self._name} {evidence}")
        return row

    def place(self, position: int) -> Weight:
        return self._places[_PLACES[position] if position < len(_PLACES) else _PLACES[-1]]

    def known(self, token: int) -> float:
        """What an id's own weight adds to the log odds; 0 for one that was not met."""
        known = self._ids.get(token)
        return 0.0 if known is None else known.value

    def id(self, token: int) -> Weight:
        known = self._ids.get(token)
        if known is None:
            known = self._ids[token] = Weight(firmness=_ID_FIRMNESS)
        return known

    def bound(self) -> None:
        """Forget single ids once there are too many."""
        if len(self._ids) > MOST_IDS:
            self.forget_ids()

    def forget_ids(self) -> None:
        self._ids.clear()


def _told(table: Sequence[Sequence[Weight]], same: int, other: int) -> Weight:
    return table[min(same, _MOST_TOLD)][min(other, _MOST_TOLD)]
