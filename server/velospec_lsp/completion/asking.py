"""The stages that ask the model: which schema guides it, what it is asked, and its answer in time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from velospec.core.errors import CancelledError, GrammarError, VeloSpecError
from velospec.core.grammar import Grammar
from velospec.core.request import Completion, FinishReason, InfillRequest, Limits, Sampling
from velospec_lsp.completion.offer import Outcome, Silence
from velospec_lsp.completion.work import Work
from velospec_lsp.json_schema.files import Workspace
from velospec_lsp.json_schema.guide import JsonGuide
from velospec_lsp.privacy import uri_path

if TYPE_CHECKING:
    from velospec_lsp.completion.pipeline import Pipeline

logger = logging.getLogger(__name__)

CUT_OFF = frozenset({FinishReason.LENGTH, FinishReason.DEADLINE})
"""Why an answer ended where the model would have gone on, in the middle of a line or a statement."""

HURRIED = frozenset({FinishReason.PAUSE, FinishReason.DEADLINE})
"""Why an answer ended because somebody waits for it: there is more to be had later."""

_FIRST_LOOK_MS = 120.0
"""After so long an automatic answer ends with its last whole line.

A line that comes at once is worth more than a block that comes late; what follows is prefetched meanwhile.
"""


class Infiller(Protocol):
    """What the pipeline needs of the daemon's client."""

    async def infill(
        self,
        request: InfillRequest,
        *,
        model: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Complete; `on_text` gets it in pieces. Cancelling the awaiting task stops the decode.

        Raises VeloSpecError.
        """
        ...


class Asking:
    """Asks the model for one pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        infiller: Infiller,
        on_error: Callable[[VeloSpecError], None],
        tell: Callable[[str], None],
    ) -> None:
        """`on_error` and `tell` are those of the pipeline."""
        self._pipeline = pipeline
        self._infiller = infiller
        self._on_error = on_error
        self._tell = tell
        self._json = JsonGuide()

    async def guide(self, work: Work) -> None:
        """Find what guides the completion of a JSON document."""
        query = work.query
        if not self._json.concerns(query.document):
            return
        workspace = Workspace(self._pipeline.roots, self._pipeline.gate)
        mapped = work.settings.json_schemas
        work.guidance = await asyncio.to_thread(self._json.guidance, query, mapped, workspace)
        while self._json.notices:
            self._tell(self._json.notices.pop(0))

    async def ask(self, work: Work) -> Outcome | None:
        """Have the model write, within the budget."""
        settings, guidance = work.settings, work.guidance
        grammars: list[Grammar | None] = [*(guidance.grammars if guidance else ()), None]
        budgets = [settings.budget_ms, settings.manual_budget_ms][work.query.manual :]
        try:
            for budget in budgets:
                completion = await self._guided(work, budget, grammars)
                # A long new prompt can take all of the budget. What has been read of it is kept, so it is
                # worth going on: whoever waits is better served late than never, and any key ends this.
                if completion.text.strip() or completion.finish is not FinishReason.DEADLINE:
                    break
        except CancelledError:
            return Silence("A newer request took this one's place.")
        except VeloSpecError as error:
            if not work.run.ahead:  # else nobody has asked
                self._on_error(error)
            return Silence(str(error))
        work.completion = completion
        work.trace.asked(completion.statistics)
        return None

    async def draw(self, work: Work, budget_ms: int, sampling: Sampling) -> Completion:
        """Another completion at the place of `work`. Raises VeloSpecError."""
        grammars = work.guidance.grammars if work.guidance else ()
        request = replace(self.request(work, budget_ms, next(iter(grammars), None)), sampling=sampling)
        return await self._infiller.infill(request, model=work.settings.model or None)

    async def _guided(self, work: Work, budget_ms: int, grammars: list[Grammar | None]) -> Completion:
        """The completion under the first of `grammars` that the engine takes; those before it are removed."""
        while True:
            try:
                return await self._infill(work, budget_ms, grammars[0])
            except GrammarError:
                logger.info("the grammar engine refused a grammar; %d more to try", len(grammars) - 1)
                if len(grammars) == 1:
                    raise
                del grammars[0]

    async def _infill(self, work: Work, budget_ms: int, grammar: Grammar | None) -> Completion:
        begun = time.monotonic()
        request = self.request(work, budget_ms, grammar)
        model = work.settings.model or None
        completion = await self._infiller.infill(request, model=model, on_text=work.run.hear)
        logger.info(
            "completed in %.0f ms: %d tokens, %s",
            1000 * (time.monotonic() - begun),
            len(completion.token_ids),
            completion.finish.value,
        )
        return completion

    def request(self, work: Work, budget_ms: int, grammar: Grammar | None = None) -> InfillRequest:
        """What the model is asked at the place of `work`."""
        uri, settings, site = work.query.document.uri, work.settings, work.site
        waited_for = not work.query.manual and not work.run.ahead and work.guidance is None
        return InfillRequest(
            document=uri,
            prefix=site.prefix,
            suffix=site.suffix,
            path=(uri_path(uri) or "").rpartition("/")[2],
            limits=Limits(
                max_tokens=0 if work.run.reads else settings.max_tokens,
                max_lines=work.extent.lines,
                indent_scope=work.extent.in_block,
                budget_ms=float(budget_ms),
                lines_ms=_FIRST_LOOK_MS if waited_for else None,
            ),
            speculate=settings.speculate,
            workspace=self._pipeline.workspace_of(work.query.document.home),
            grammar=grammar,
            log_probs=True,
            context=work.context,
            background=work.run.ahead,
        )


def nothing_left(completion: Completion, filter_name: str) -> str:
    """Why there is nothing to show of `completion`, in one sentence."""
    if completion.text.strip():
        return f"What the model wrote was dropped by the filter {filter_name!r}."
    if completion.finish is FinishReason.DEADLINE:
        return "The time budget ran out before the model had written anything (velospec.budgetMs)."
    return "The model has nothing to add here."
