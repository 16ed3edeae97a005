"""The decode loop. One step: propose, trim, choose, score in one batch, decide, commit.

The pending token, decided but not yet in the KV cache, rides at the front of each batch, so that a step
always yields one id more than it accepts. Only the loop talks to proposers, selector, slot, verifier and
constraint; they never talk to each other. It sees token ids, never text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from velospec.constraints.base import Constraint, GrammarCursor
from velospec.control.policy import Policy
from velospec.core.cancellation import CancelToken
from velospec.core.draft import EMPTY, Draft, Verdict
from velospec.core.errors import CancelledError
from velospec.core.request import FinishReason
from velospec.core.step import OnStep, Step
from velospec.decode.output import Output
from velospec.decode.pace import Pace
from velospec.decode.slots import Slot
from velospec.decode.tally import Tally
from velospec.proposers.base import Costly, GrammarAware, LanguageAware, Proposer, Watching
from velospec.verify.base import Verifier
from velospec.verify.likelihood import log_probabilities


@dataclass(slots=True)
class Job:
    """One request while it is decoded."""

    slot: Slot  # holds a proper prefix of the prompt
    prompt: Sequence[int]
    output: Output
    verifier: Verifier
    constraint: Constraint | None
    cancel: CancelToken
    deadline: float | None  # on the clock of time.monotonic, beside the token's own
    pause: float | None  # likewise: when the output is to end with whole lines
    tally: Tally
    speculate: bool
    grammar: GrammarCursor | None = None  # part of `constraint`, which is what restricts
    trims: bool = True  # whether drafts are cut before what the constraint forbids
    language: str = ""  # for proposers that are LanguageAware
    on_step: OnStep | None = None
    log_probs: list[float] | None = None  # of the ids decided, where they are asked for


class Loop:
    """Decodes one request after another with the same proposers and selector."""

    def __init__(
        self,
        proposers: Sequence[Proposer],
        selector: Policy,
        *,
        max_draft: int,
        prefill_chunk: int,
    ) -> None:
        """`max_draft` is the longest draft in ids; `prefill_chunk` the most ids read between two looks."""
        self._proposers = {proposer.name: proposer for proposer in proposers}
        # Told apart once: to ask a protocol takes 20 microseconds.
        self._costly = {found.name: found for found in proposers if isinstance(found, Costly)}
        self._watching = [found for found in proposers if isinstance(found, Watching)]
        self._by_language = [found for found in proposers if isinstance(found, LanguageAware)]
        self._by_grammar = [found for found in proposers if isinstance(found, GrammarAware)]
        self._selector = selector
        self._max_draft = max_draft
        self._pace = Pace(prefill_chunk)

    def run(self, job: Job) -> FinishReason:
        """Decode until a rule ends it. The slot then holds no id that was not decided.

        Raises:
            CancelledError: `job.cancel` was cancelled; noticed within one step.
            BackendError: The backend failed.
        """
        if not self._prefill(job):
            return FinishReason.DEADLINE
        if job.output.left < 1:
            return FinishReason.LENGTH
        self._begin(job)
        job.tally.end_prefill()
        pending = job.prompt[-1]
        while True:
            verdict = self._step(job, pending)
            finish = job.output.extend(_needed(verdict.ids, job))
            if finish is not None:
                return finish
            if job.grammar is not None and job.grammar.complete:
                return FinishReason.END  # the only choice that is left to the target
            if job.pause is not None and time.monotonic() > job.pause:
                job.pause = None
                if job.output.pause() is not None:
                    return FinishReason.PAUSE
            if not _may_go_on(job):
                return FinishReason.DEADLINE
            pending = verdict.bonus

    def _prefill(self, job: Job) -> bool:
        """Score all of the prompt but its last id; whether the deadline left time for it."""
        end = len(job.prompt) - 1
        while (start := len(job.slot.ids)) < end:
            if not _may_go_on(job):
                return False
            chunk = job.prompt[start : min(start + self._pace.ids, end)]
            started = time.perf_counter()
            job.slot.prefill(chunk)
            self._pace.observe(len(chunk), time.perf_counter() - started)
            job.tally.prefilled_tokens += len(chunk)
        return _may_go_on(job)

    def _begin(self, job: Job) -> None:
        """Have the proposers read the prompt too."""
        self._selector.begin()
        if job.speculate:
            for proposer in self._by_language:
                proposer.use_language(job.language)
            for aware in self._by_grammar:
                aware.use_grammar(job.grammar if job.trims else None)
            for reader in self._proposers.values():
                reader.begin(job.prompt)

    def _step(self, job: Job, pending: int) -> Verdict:
        context = len(job.slot.ids)
        started = time.perf_counter()
        density = 1.0 if job.grammar is None else self._density(job.grammar)
        self._selector.look(density)
        offered = self._propose(job, context)
        draft = self._selector.choose(offered, context) if offered else EMPTY
        proposed = time.perf_counter()
        logits = job.slot.decode((pending, *draft.ids))
        scored = time.perf_counter()
        verdict = job.verifier.decide(logits, draft, job.constraint, job.output.ids)
        if job.log_probs is not None:
            job.log_probs += log_probabilities(logits, verdict.ids)
        job.slot.truncate(context + 1 + verdict.accepted)
        rows = max(len(draft) + 1, job.slot.backend.min_rows)
        expected = self._selector.cost.seconds(rows, context)
        self._selector.observe(offered, verdict, context, scored - proposed)
        self._learn(job, verdict, offered)
        step = Step(
            verdict,
            tuple(offered),
            rows,
            context,
            propose_seconds=proposed - started,
            score_seconds=scored - proposed,
            decide_seconds=time.perf_counter() - scored,
            expected_seconds=expected,
            density=density,
        )
        job.tally.step(step)
        if job.speculate:
            self._selector.spent(step.propose_seconds + step.decide_seconds)
        if job.on_step is not None:
            job.on_step(step)
        return verdict

    def _density(self, grammar: GrammarCursor) -> float:
        return grammar.density() if self._selector.exact_density else grammar.rough_density()

    def _propose(self, job: Job, context: int) -> list[Draft]:
        """The drafts on offer, of ids that the target may choose."""
        limit = min(self._max_draft, job.output.left - 1)
        if limit < 1 or not job.speculate:
            return []
        offered: list[Draft] = []
        for name, proposer in self._proposers.items():
            if name in self._costly:
                self._costly[name].consider(self._selector.choose(offered, context), context, job.output.left)
            draft = proposer.propose(limit)
            if draft.ids and (draft := _trim(draft, job)).ids:
                offered.append(draft)
        return offered

    def _learn(self, job: Job, verdict: Verdict, offered: Sequence[Draft]) -> None:
        """Tell the constraint and the proposers what was decided."""
        ids = verdict.ids
        if job.constraint is not None:
            job.constraint.advance(ids)
        if job.speculate:
            for proposer in self._proposers.values():
                proposer.extend(ids)
            for watching in self._watching:
                watching.watch(offered, ids)
            owner = self._proposers.get(verdict.draft.proposer)
            if owner is not None:
                owner.observe(verdict)


def _trim(draft: Draft, job: Job) -> Draft:
    """Cut before the first id that cannot be chosen, or that would end the output."""
    final, length = job.verifier.final, len(draft)
    if not final.isdisjoint(draft.ids):
        length = next(i for i, token in enumerate(draft.ids) if token in final)
    if job.constraint is not None and job.trims:
        length = min(length, job.constraint.trim(draft.ids[:length]))
        if length and job.grammar is not None and job.grammar.closes(draft.ids[:length]):
            length -= 1  # the last id of an answer comes as the target's own choice, without a row for it
    return draft.cut(length)


def _needed(ids: tuple[int, ...], job: Job) -> tuple[int, ...]:
    """`ids` without an end token behind a closed grammar: without drafts, none is asked for there."""
    if job.grammar is not None and job.grammar.closed and ids[-1] in job.verifier.final:
        return ids[:-1]
    return ids


def _may_go_on(job: Job) -> bool:
    """False past the deadline; raises CancelledError if cancelled."""
    if job.cancel.cancelled:
        raise CancelledError("The request was cancelled.")
    return not job.cancel.expired and (job.deadline is None or time.monotonic() < job.deadline)
