"""The stages of one completion, in order: gate, site, cache, model, filters, offer.

A stage that ends the matter says why, so that the user can ask. Knows no type of the protocol, and of the
daemon only the one call it makes.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from typing import Protocol

from velospec.core.errors import CancelledError, GrammarError, VeloSpecError
from velospec.core.grammar import Grammar
from velospec.core.request import Completion, FinishReason, InfillRequest, Limits
from velospec_lsp.completion.cache import OfferCache
from velospec_lsp.completion.offer import Offer, Silence, make_offer
from velospec_lsp.completion.site import Query, Site, site_of
from velospec_lsp.completion.tail import is_inert
from velospec_lsp.filters import apply_filters
from velospec_lsp.json_schema.files import Workspace
from velospec_lsp.json_schema.guide import Guidance, JsonGuide
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.settings import Settings

logger = logging.getLogger(__name__)

_CUT_OFF = frozenset({FinishReason.LENGTH, FinishReason.DEADLINE})


class Infiller(Protocol):
    """What the pipeline needs of the daemon's client."""

    async def infill(self, request: InfillRequest, *, model: str | None = None) -> Completion:
        """Complete; raises VeloSpecError. Cancelling the awaiting task stops the decode."""
        ...


class Pipeline:
    """Makes an offer, or silence with a reason, of a query."""

    def __init__(
        self,
        infiller: Infiller,
        on_error: Callable[[VeloSpecError], None],
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        """`on_error` hears of what the model's side could not do; the user is told there, not per request.

        `tell` shows the user one sentence, once, about a file that completion is guided by.
        """
        self.settings = Settings()
        self.gate = PrivacyGate()
        self.cache = OfferCache()
        self.roots: tuple[str, ...] = ()  # paths of the workspace's folders
        self._infiller = infiller
        self._on_error = on_error
        self._tell = tell
        self._json = JsonGuide()
        self._numbers = itertools.count(1)

    async def complete(self, query: Query) -> Offer | Silence:
        """What to show at the query's cursor. Raises CancelledError of asyncio only."""
        silence = self.rule(query)
        if silence is not None:
            return silence
        settings = self.settings
        site = site_of(query, settings.prefix_chars, settings.suffix_chars)
        if site is None:
            return Silence("The selected entry of the popup does not fit the text at the cursor.")
        uri = query.document.uri
        hit = self.cache.get(uri, site, manual=query.manual)
        if hit is not None:
            logger.info("offer %s answered from the cache", hit.id)
            return make_offer(hit.id, hit.typed, hit.text, query, site, fitted=hit.fitted)
        guidance = await self._guidance(query)
        completion = await self._ask(query, site, guidance)
        if isinstance(completion, Silence):
            return completion
        text, emptied_by = _filtered(completion, site, guidance)
        if not text:
            return Silence(_nothing_left(completion, emptied_by))
        identity, fitted = f"v{next(self._numbers)}", guidance is not None
        if query.selection is None:
            self.cache.put(identity, uri, site, text, manual=query.manual, fitted=fitted)
        return make_offer(identity, "", text, query, site, fitted=fitted)

    def rule(self, query: Query) -> Silence | None:
        """The gate: whether this document may be completed at all. None means yes."""
        document, settings = query.document, self.settings
        if not settings.enabled:
            return Silence("The setting velospec.enabled is false.")
        if document.language in settings.disabled_languages:
            return Silence(f"The setting velospec.disabledLanguages names {document.language}.")
        ruling = self.gate.rule(document.uri, document.text.size)
        if not ruling.allowed:
            return Silence(f"The file is kept from the model: {ruling.reason}.")
        return None

    async def _guidance(self, query: Query) -> Guidance | None:
        if not self._json.concerns(query.document):
            return None
        workspace = Workspace(self.roots, self.gate)
        mapped = self.settings.json_schemas
        guidance = await asyncio.to_thread(self._json.guidance, query, mapped, workspace)
        while self._json.notices:
            self._tell(self._json.notices.pop(0))
        return guidance

    async def _ask(self, query: Query, site: Site, guidance: Guidance | None) -> Completion | Silence:
        settings = self.settings
        grammars: list[Grammar | None] = [*(guidance.grammars if guidance else ()), None]
        budgets = (
            [settings.manual_budget_ms] if query.manual else [settings.budget_ms, settings.manual_budget_ms]
        )
        try:
            for budget in budgets:
                completion = await self._guided(query, site, budget, grammars)
                # A long new prompt can take all of the budget. What has been read of it is kept, so it is
                # worth going on: whoever waits is better served late than never, and any key ends this.
                if completion.text.strip() or completion.finish is not FinishReason.DEADLINE:
                    break
        except CancelledError:
            return Silence("A newer request took this one's place.")
        except VeloSpecError as error:
            self._on_error(error)
            return Silence(str(error))
        return completion

    def workspace_of(self, uri: str) -> str:
        """The innermost folder of the workspace that holds the document; empty where none does."""
        path = uri_path(uri) or ""
        return max(
            (root for root in self.roots if path.startswith(root.rstrip("/") + "/")), key=len, default=""
        )

    async def _guided(
        self, query: Query, site: Site, budget_ms: int, grammars: list[Grammar | None]
    ) -> Completion:
        """The completion under the first of `grammars` that the engine takes; those before it are removed."""
        while True:
            try:
                return await self._infill(query, site, budget_ms, grammars[0])
            except GrammarError:
                logger.info("the grammar engine refused a grammar; %d more to try", len(grammars) - 1)
                if len(grammars) == 1:
                    raise
                del grammars[0]

    async def _infill(self, query: Query, site: Site, budget_ms: int, grammar: Grammar | None) -> Completion:
        uri, settings = query.document.uri, self.settings
        request = InfillRequest(
            document=uri,
            prefix=site.prefix,
            suffix=site.suffix,
            path=(uri_path(uri) or "").rpartition("/")[2],
            limits=_limits(settings, site, budget_ms),
            speculate=settings.speculate,
            workspace=self.workspace_of(uri),
            grammar=grammar,
        )
        begun = time.monotonic()
        completion = await self._infiller.infill(request, model=settings.model or None)
        logger.info(
            "completed in %.0f ms: %d tokens, %s",
            1000 * (time.monotonic() - begun),
            len(completion.token_ids),
            completion.finish.value,
        )
        return completion


def _limits(settings: Settings, site: Site, budget_ms: int) -> Limits:
    """One line before text that stays; else up to the line limit, within the cursor's block."""
    one_line = not settings.multiline or not is_inert(site.tail)
    return Limits(
        max_tokens=settings.max_tokens,
        max_lines=1 if one_line else settings.max_lines,
        indent_scope=not one_line,
        budget_ms=float(budget_ms),
    )


def _filtered(completion: Completion, site: Site, guidance: Guidance | None) -> tuple[str, str]:
    """What is left of the model's text, and the name of the filter that left nothing of it."""
    if guidance is None:
        return apply_filters(_whole_lines(completion), site)
    return guidance.fit(completion.text, cut_off=completion.finish in _CUT_OFF), "JSON"


def _whole_lines(completion: Completion) -> str:
    """The text without the last of its lines where that was cut off, often in a word. A lone line stays."""
    if completion.finish not in _CUT_OFF:
        return completion.text
    lines, _, _ = completion.text.rpartition("\n")
    return lines if lines.strip() else completion.text


def _nothing_left(completion: Completion, filter_name: str) -> str:
    if completion.text.strip():
        return f"What the model wrote was dropped by the filter {filter_name!r}."
    if completion.finish is FinishReason.DEADLINE:
        return "The time budget ran out before the model had written anything (velospec.budgetMs)."
    return "The model has nothing to add here."
