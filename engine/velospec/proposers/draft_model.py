"""A second, smaller model with the same tokenizer drafts greedily.

That is speculative decoding as in Leviathan et al., 2023 (arXiv:2211.17192), with deterministic drafts. The
draft model keeps a KV cache of its own and reads what was decided only when it is asked, so that a request
for which it never pays costs nothing. Knows nothing of the target but the size of its vocabulary.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from velospec.backends.base import Backend, Logits, Vocabulary
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.core.errors import BackendError, SettingsError
from velospec.core.price import Price
from velospec.proposers.base import GrammarView

LEAST_SURVIVAL = 0.25
"""A draft ends where the draft model itself gives less than this to all its ids being right."""

_CHUNK = 64  # most ids read in one step beyond those of a usual step: a cancel is looked at between steps
_ROUNDS = 5  # of timing, when it is opened
_RECENT = 0.2  # weight of the newest time in the running averages
_TRUST = 0.9  # share of the draft model's own probability that is taken for acceptance until it is counted
_FIRST = (0.3, 0.5, 0.7, 0.85, 0.95)  # bounds of the classes of the first id's probability
_LATER = (0.7, 0.9)  # the same for the least probability of the later ids
_SLOT = 0

_logger = logging.getLogger(__name__)


class DraftModel:
    """The proposer `draft_model`. Its evidence: how sure it is itself of the first and of the later ids."""

    name = "draft_model"

    def __init__(
        self, backend: Backend, target_size: int, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """Take over slot 0 of `backend`, and time it; ids from `target_size` on are never drafted.

        Raises:
            BackendError: the backend cannot decode, or cannot take back what it decoded.
        """
        self._backend = backend
        self._clock = clock
        self._target_size = target_size
        self._piece = backend.vocabulary.piece
        self._stops = backend.vocabulary.control_ids | backend.vocabulary.end_ids
        self._ids: list[int] = []  # prompt and all that was decided
        self._held: list[int] = []  # what the KV cache holds: a part of that, and old drafts
        self._agreed = 0  # how many first ids of both are the same
        self._failed = False
        self._grammar: GrammarView | None = None
        self._single, self._per_id = self._measure()

    def use_grammar(self, grammar: GrammarView | None) -> None:
        self._grammar = grammar

    def begin(self, ids: Sequence[int]) -> None:
        self._ids = list(ids)
        self._agreed = 0
        self._compare()

    def extend(self, ids: Sequence[int]) -> None:
        self._ids.extend(ids)
        self._compare()

    def price(self) -> Price:
        """What the next draft would cost; `unread` is for all but the two ids of a usual step."""
        unread = max(0, len(self._ids) - self._agreed - 2)
        return Price(self._single + self._per_id, self._single, unread * self._per_id)

    def propose(self, limit: int) -> Draft:
        """The ids that the draft model would write; EMPTY while a long text is still being read.

        Such a text is read in parts, one for each call. Should the backend fail, there are no more drafts.
        """
        limit = min(limit, self._backend.context - len(self._ids) + 1)  # the last id drafted is not read
        if limit < 1 or not self._ids or self._failed:
            return EMPTY
        try:
            return self._write(limit) if self._read_most() else EMPTY
        except BackendError as error:
            _logger.warning("The draft model is not used any more: %s", error)
            self._failed = True
            return EMPTY

    def observe(self, verdict: Verdict) -> None:
        """Nothing to learn here: acceptance is counted by `control.acceptance`."""

    def _measure(self) -> tuple[float, float]:
        """Seconds of one row, and of each further row; leaves the slot empty. Also reads the weights once.

        The least of several times, since one that a busy moment drew out could not be put right later: what
        looks too dear is not asked, and not timed again.
        """
        rows = min(8, self._backend.max_rows, self._backend.context)
        times = [(self._time(1), self._time(rows)) for _ in range(_ROUNDS)]
        single = min(one for one, _ in times)
        return single, max(0.0, min(several for _, several in times) - single) / max(1, rows - 1)

    def _time(self, rows: int) -> float:
        started = self._clock()
        self._backend.decode(_SLOT, [0] * rows, 0)
        seconds = self._clock() - started
        self._backend.truncate(_SLOT, 0)
        return seconds

    def _compare(self) -> None:
        end = min(len(self._ids), len(self._held))
        while self._agreed < end and self._ids[self._agreed] == self._held[self._agreed]:
            self._agreed += 1

    def _read_most(self) -> bool:
        """Cut what is wrong from the cache and read a part of what it lacks.

        Returns whether no more than the rows of one batch, and at least one, are left to read.
        """
        keep = min(self._agreed, len(self._ids) - 1)  # the last id is always read, for its logits
        if keep < len(self._held):
            keep = self._backend.truncate(_SLOT, keep)
            del self._held[keep:]
            self._agreed = keep
        missing = len(self._ids) - keep
        if missing > self._backend.max_rows:
            part = self._ids[keep : keep + min(missing - 1, _CHUNK)]
            started = self._clock()
            self._backend.prefill(_SLOT, part, keep)
            self._note(len(part), self._clock() - started)
            self._held.extend(part)
            self._agreed = len(self._held)
        return len(self._ids) - len(self._held) <= self._backend.max_rows

    def _write(self, limit: int) -> Draft:
        drafted: list[int] = []
        chances: list[float] = []
        survival = 1.0
        unread = self._ids[len(self._held) :]
        while True:
            token, chance = self._choose(self._decode(unread)[-1], drafted)
            survival *= chance
            hopeless = survival < LEAST_SURVIVAL and drafted  # the first id is for the selector to judge
            if hopeless or token >= self._target_size or token in self._stops or not self._piece(token):
                break
            drafted.append(token)
            chances.append(chance)
            if len(drafted) == limit:
                break
            unread = [token]
        self._compare()
        if not drafted:
            return EMPTY
        return Draft(tuple(drafted), self.name, _evidence(chances), _TRUST * chances[0])

    def _choose(self, logits: Logits, drafted: Sequence[int]) -> tuple[int, float]:
        """The likeliest id that the grammar allows, and its probability, after the ids `drafted` so far.

        As the verifier does it, a mask is made only where the likeliest of all is not allowed. Where nothing
        is allowed, an id that ends the draft.
        """
        token, chance = most_likely(logits)
        grammar = self._grammar
        if grammar is None or token >= self._target_size or grammar.allows(drafted, token):
            return token, chance
        allowed = None if grammar.slow_masks else grammar.allowed(drafted)
        if allowed is None or not (allowed := allowed[allowed < len(logits)]).size:
            return self._target_size, 0.0
        place, chance = most_likely(logits[allowed])
        return int(allowed[place]), chance

    def _decode(self, ids: Sequence[int]) -> Logits:
        started = self._clock()
        logits = self._backend.decode(_SLOT, ids, len(self._held))
        self._note(len(ids), self._clock() - started)
        self._held.extend(ids)
        return logits

    def _note(self, rows: int, seconds: float) -> None:
        if rows == 1:
            self._single += _RECENT * (seconds - self._single)
        else:
            per_id = max(0.0, seconds - self._single) / (rows - 1)
            self._per_id += _RECENT * (per_id - self._per_id)


def require_same_tokens(draft: Vocabulary, target: Vocabulary, name: str) -> None:
    """Make sure that each id stands for the same text in both; `name` is that of the draft model.

    Control tokens are not compared, since no draft has any, and files of one family name them differently; so
    one vocabulary may be longer by padding. Nor are the end tokens: only the target's own end an answer.

    Raises:
        SettingsError: the two have different tokenizers.
    """
    hidden = draft.control_ids | target.control_ids
    for token in range(max(draft.size, target.size)):
        if token in hidden:
            continue
        theirs = draft.piece(token) if token < draft.size else None
        ours = target.piece(token) if token < target.size else None
        if theirs != ours:
            raise SettingsError(
                f"{name} cannot draft for this model, since they have different tokenizers: "
                f"token {token} is {_shown(theirs)} there and {_shown(ours)} here.",
                "See which models can work together: velospec model pairs",
            )


def _shown(piece: bytes | None) -> str:
    return "missing" if piece is None else repr(piece.decode("utf-8", "replace"))


def most_likely(logits: Logits) -> tuple[int, float]:
    """The id with the largest logit of a row, and its probability at temperature 1."""
    token = int(np.argmax(logits))
    return token, float(1 / np.exp(logits - logits[token]).sum())


def _evidence(chances: Sequence[float]) -> int:
    later = bisect_right(_LATER, min(chances[1:], default=0.0))
    return (len(_FIRST) + 1) * later + bisect_right(_FIRST, chances[0])
