"""Sampling verification: the target's own draw in each row, and a draft is accepted as far as it equals it.

A draft id x is right with probability p(x), where p is the target's distribution after all processing, and
what stands where it was wrong is distributed as p without x: for a draft of certain ids this is the rule of
speculative sampling (Leviathan et al. 2023, Chen et al. 2023), with the same acceptance, which is the most
there can be. Beyond that, the draw of output token n depends on the seed, n and the logits alone. So in exact
mode a seed gives one and the same text with any drafts and with none.

In each row: constraint and bans, repetition penalty over what is recent there (the draft's ids before it
included), then `distribution.draw`. Knows nothing of the KV cache, of text or of who drafted.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import numpy as np

from velospec.backends.base import Logits
from velospec.constraints.base import Constraint
from velospec.core.draft import Draft, Verdict
from velospec.core.request import Sampling
from velospec.verify.base import Choice, follow
from velospec.verify.candidates import Candidates, Places
from velospec.verify.distribution import draw

_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio, the odd step of SplitMix64


class SamplingVerifier:
    """Implements `verify.base.Verifier` for one request.

    At temperature 0 it takes the largest logit after penalties, the lowest id on ties.
    """

    def __init__(
        self,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        banned: Iterable[int] = (),
        end_ids: Iterable[int] = (),
    ) -> None:
        """`prompt` are the ids before the output; `banned` and `end_ids` as for `GreedyVerifier`."""
        self._sampling = sampling
        self._seed = secrets.randbits(64) if sampling.seed is None else sampling.seed
        self._prompt = tuple(prompt[-sampling.penalty_window :]) if sampling.penalizes else ()
        self._banned_ids = np.array(sorted(set(banned)), dtype=np.intp)
        self.final = frozenset(self._banned_ids.tolist()).union(end_ids)

    def decide(
        self,
        logits: Logits,
        draft: Draft,
        constraint: Constraint | None = None,
        written: Sequence[int] = (),
    ) -> Verdict:
        """See `Verifier.decide`."""

        def choose(index: int) -> Choice:
            ahead = draft.ids[:index]
            allowed = constraint.allowed(ahead) if constraint is not None else None
            candidates = Candidates.of(logits[index], allowed, self._banned_ids)
            if self._sampling.penalizes:
                _penalize(candidates, self._recent(written, ahead), self._sampling.repetition_penalty)
            return self._choose(candidates, len(written) + index)

        return follow(draft, choose)

    def _choose(self, candidates: Candidates, position: int) -> Choice:
        place, margin = candidates.best()
        if self._sampling.temperature:
            best = float(candidates.values[place])
            place = draw(candidates.values, best, self._sampling, uniform(self._seed, position))
        return Choice(candidates.id_at(place), margin)

    def _recent(self, written: Sequence[int], ahead: tuple[int, ...]) -> Places:
        """The last ids before a row, at most as many as the window holds; some may come twice."""
        window = self._sampling.penalty_window
        recent = (*written[-window:], *ahead)
        if len(recent) < window:
            recent = (*self._prompt, *recent)
        return np.array(recent[-window:], dtype=np.intp)


def uniform(seed: int, position: int) -> float:
    """A number from 0 up to but not 1 for each position of the output, at random but for the seed.

    SplitMix64 (Steele, Lea and Flood 2014) as a counter: no state, so that rows can be drawn again, and in
    any order. 1 us.
    """
    return (_mix(_mix(seed) + position * _GOLDEN) >> 11) * 2.0**-53


def _mix(word: int) -> int:
    """SplitMix64's output function: every bit of `word` changes half the bits of the result."""
    word = (word + _GOLDEN) & _WORD
    word = ((word ^ word >> 30) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ word >> 27) * 0x94D049BB133111EB) & _WORD
    return word ^ word >> 31


def _penalize(candidates: Candidates, recent: Places, penalty: float) -> None:
    """Make the `recent` ids less likely (Keskar et al. 2019, CTRL): each once, however often it came."""
    places = candidates.places(recent)
    found = candidates.values[places]
    candidates.values[places] = np.where(found > 0, found / penalty, found * penalty)
