"""One request from prompt ids to completion: slot, constraint, stop rules and loop put together.

Knows ids, bytes and limits; what the prompt means (infill, chat) is the engine's business.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from velospec.backends.base import Backend
from velospec.constraints.base import Constraint, GrammarCursor
from velospec.constraints.both import Both
from velospec.constraints.healing import ByteTable, Healing
from velospec.control.policy import Policy
from velospec.core.cancellation import CancelToken
from velospec.core.errors import ContextError
from velospec.core.request import Completion, Limits, Sampling
from velospec.core.step import OnStep
from velospec.decode.loop import Job, Loop
from velospec.decode.output import OnText, Output
from velospec.decode.slots import Slots
from velospec.decode.stop import StopRules
from velospec.decode.tally import Tally
from velospec.proposers.base import Proposer
from velospec.verify.base import Verifier
from velospec.verify.greedy import GreedyVerifier
from velospec.verify.sampling import SamplingVerifier


@dataclass(frozen=True, slots=True)
class Task:
    """What to decode: a prompt in ids, and the rules for what follows it."""

    document: str  # names the KV slot
    ids: Sequence[int]
    limits: Limits = field(default_factory=Limits)
    heal: bytes = b""  # the first new bytes must be these; they are not part of the text
    cursor_line: str = ""  # the text from the start of the cursor's line to the cursor
    speculate: bool = True
    language: str = ""  # of the text before the cursor; empty where it is not known
    sampling: Sampling = field(default_factory=Sampling)
    workspace: str = ""  # whose acceptance counts
    grammar: GrammarCursor | None = None  # at the beginning of the answer; used up
    log_probs: bool = False
    background: bool = False  # done ahead: the document's slot is not to lose much for it


class Decoder:
    """Completes tasks one at a time on one backend."""

    def __init__(  # noqa: PLR0913 - all but the parts it decodes with by name
        self,
        backend: Backend,
        proposers: Sequence[Proposer],
        selector: Policy,
        *,
        rollback: bool = True,
        prefill_chunk: int = 64,
        healing: ByteTable | None = None,
        trims: bool = True,
    ) -> None:
        """`rollback` says whether the backend can take back rows of a batch; without it nothing is drafted.

        `prefill_chunk` is the most ids read between two looks at the deadline; 64 read nearly as fast as
        more (97 % on a two-core machine), and are over in a fifth of a second there. `healing` is the table
        of this vocabulary, where it was made already. `trims` False scores drafts that the grammar forbids.
        """
        vocabulary = backend.vocabulary
        self._backend = backend
        self._rollback = rollback
        self._trims = trims
        self._table = healing or ByteTable(vocabulary)
        self.slots = Slots(backend)
        self._greedy = GreedyVerifier(vocabulary.control_ids - vocabulary.end_ids, vocabulary.end_ids)
        self._loop = Loop(proposers, selector, max_draft=backend.max_rows - 1, prefill_chunk=prefill_chunk)

    def complete(
        self,
        task: Task,
        cancel: CancelToken,
        on_text: OnText | None = None,
        on_step: OnStep | None = None,
    ) -> Completion:
        """Decode `task` to its end.

        `on_text` is given each part of the text as soon as it is settled; `on_step` is told of each step
        before the text that it made.

        Raises:
            ContextError: The prompt is empty or leaves no room in the context.
            CancelledError: `cancel` was cancelled.
            BackendError: The backend failed; the slot's record still mirrors its KV cache.
        """
        deadline, pause = _at(task.limits.budget_ms), _at(task.limits.lines_ms)
        self._check(task)
        slot = self.slots.acquire(task.document, task.ids, background=task.background)
        # The last id decided needs no position of its own: it is never scored.
        room = min(task.limits.max_tokens, self._backend.context - len(task.ids) + 1)
        rules = StopRules(task.limits, task.cursor_line)
        output = Output(
            self._backend.vocabulary,
            rules,
            room=room,
            heal=len(task.heal),
            on_text=on_text,
            end_ids=frozenset() if task.limits.ignore_end else None,
            marks=task.grammar.marks if task.grammar is not None else None,
        )
        job = Job(
            slot=slot,
            prompt=task.ids,
            output=output,
            verifier=self._verifier(task),
            constraint=self._constraint(task),
            grammar=task.grammar,
            trims=self._trims,
            cancel=cancel,
            deadline=deadline,
            pause=pause,
            tally=Tally(len(task.ids), len(slot.ids)),
            speculate=task.speculate and self._rollback,
            language=task.language,
            on_step=on_step,
            log_probs=[] if task.log_probs else None,
        )
        finish = self._loop.run(job)
        text, kept = output.close()
        slot.reuse(len(task.ids) + kept)
        statistics = job.tally.statistics(output.decided, task.grammar)
        completion = Completion(text, tuple(output.ids[:kept]), finish, statistics)
        if job.log_probs is None:
            return completion
        behind = job.log_probs[kept : output.decided]
        return replace(
            completion,
            log_probs=tuple(job.log_probs[:kept]),
            ends=output.ends(kept),
            end_log_prob=behind[0] if behind else 0.0,
        )

    def _constraint(self, task: Task) -> Constraint | None:
        if not task.heal:
            return task.grammar
        healing = Healing(self._table, task.heal)
        return healing if task.grammar is None else Both(healing, task.grammar)

    def _verifier(self, task: Task) -> Verifier:
        banned = self._greedy.banned
        end_ids = self._backend.vocabulary.end_ids
        if task.grammar is not None and task.grammar.marks:
            banned = banned.difference(task.grammar.marks)
            if task.sampling.plain:
                return GreedyVerifier(banned, end_ids)
        if task.sampling.plain:
            return self._greedy
        return SamplingVerifier(task.sampling, task.ids, banned=banned, end_ids=end_ids)

    def _check(self, task: Task) -> None:
        if not task.ids:
            raise ContextError("The prompt is empty.", "Give the model at least one token to continue.")
        if len(task.ids) > self._backend.context:
            raise ContextError(
                f"The prompt has {len(task.ids)} tokens; the context holds {self._backend.context}.",
                "Shorten the prompt, or open the model with a larger context.",
            )


def _at(milliseconds: float | None) -> float | None:
    """When that will have passed, on the clock of time.monotonic."""
    return None if milliseconds is None else time.monotonic() + milliseconds / 1000
