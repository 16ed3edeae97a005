"""The stages of one completion, in order. A stage that ends the matter says why, so that the user can ask.

Knows no type of the protocol, and of the daemon only the one call it makes.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import isawaitable

from velospec.core.errors import VeloSpecError
from velospec.core.request import Completion
from velospec_lsp.completion.alternatives import MOST, Alternatives, first_line
from velospec_lsp.completion.answers import Answers
from velospec_lsp.completion.asking import CUT_OFF, HURRIED, Asking, Infiller, nothing_left
from velospec_lsp.completion.cache import Hit, OfferCache
from velospec_lsp.completion.context.assemble import Context
from velospec_lsp.completion.extent import extent_of
from velospec_lsp.completion.history import History
from velospec_lsp.completion.offer import Outcome, Silence, make_offer
from velospec_lsp.completion.quiet import EVEN, weigh
from velospec_lsp.completion.rejections import Rejections
from velospec_lsp.completion.running import Run, Running
from velospec_lsp.completion.scope import Scope, scope_of
from velospec_lsp.completion.site import Query, Site, site_of
from velospec_lsp.completion.trace import Trace
from velospec_lsp.completion.trigger import Moment, scope_disabled, why_not
from velospec_lsp.completion.work import Work
from velospec_lsp.events import Edit, Listener
from velospec_lsp.filters import apply_filters
from velospec_lsp.filters.next_line import drop_next_lines
from velospec_lsp.filters.tail_overlap import cut_tail_overlap
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.settings import Settings
from velospec_lsp.syntax_trees import Trees

logger = logging.getLogger(__name__)

_WRITING = frozenset({"model", "filters", "quiet", "keep"})
"""Stages that are left out where there is something to offer, and only more of it is wanted."""

Stage = Callable[[Work], Outcome | Awaitable[Outcome | None] | None]
"""What a stage comes to: None lets the next one go on."""


class Pipeline(Listener):
    """Makes offers, or silence with a reason, of a query."""

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
        self.running = Running()
        self.rejections = Rejections()
        self.answers = Answers()
        self.trees = Trees()
        self.history = History()
        self.context = Context(lambda: self.gate, self.workspace_of)
        self.roots: tuple[str, ...] = ()  # paths of the workspace's folders
        self.wanted: Callable[[str], float] = lambda _: EVEN  # the share of offers taken, by language
        self._asking = Asking(self, infiller, on_error, tell)
        self._alternatives = Alternatives(self._asking, self._fit, self._remember)
        self._numbers = itertools.count(1)
        self.stages: tuple[tuple[str, Stage], ...] = (
            ("cache", self._recall),
            ("running", self._follow),
            ("trigger", self._judge_moment),
            ("extent", self._measure_out),
            ("schema", self._asking.guide),
            ("context", self._look_around),
            ("model", self._ask),
            ("filters", self._filter),
            ("quiet", self._weigh),
            ("keep", self._keep),
            ("alternatives", self._alternatives.find),
            ("offer", self._offer),
        )

    async def complete(self, query: Query, trace: Trace | None = None, run: Run | None = None) -> Outcome:
        """What to show at the query's cursor. Raises CancelledError of asyncio only.

        `trace` is told of each stage as it ends, so that it is of use where the task is cancelled, too. A
        `run` that is ahead of all requests gives way to them; what comes of it is in the cache later.
        """
        trace = Trace() if trace is None else trace
        run = Run(query) if run is None else run
        outcome = await self.running.complete(run, self._run(query, trace, run))
        if outcome is None:
            outcome = Silence("The text was changed, or another request came, while the model wrote.")
        trace.reason = outcome.reason if isinstance(outcome, Silence) else ""
        return outcome

    def edited(self, edit: Edit) -> None:
        self.running.edited(edit, self.settings.prefix_chars, self.settings.suffix_chars)

    def rule(self, query: Query) -> Silence | None:
        """The gate: whether this document may be completed at all. None means yes."""
        document, settings = query.document, self.settings
        if not settings.enabled:
            return Silence("The setting velospec.enabled is false.")
        if document.language in settings.disabled_languages:
            return Silence(f"The setting velospec.disabledLanguages names {document.language}.")
        around = sum(map(len, (*document.before, *document.after)))
        ruling = self.gate.rule(document.home, document.text.size + around)
        if not ruling.allowed:
            return Silence(f"The file is kept from the model: {ruling.reason}.")
        return None

    def forget(self, uri: str) -> None:
        """Drop what is kept of a document's text and its completions."""
        self.cache.forget(uri)
        self.answers.forget(uri)
        self.rejections.forget(uri)
        self.context.forget(uri)

    def workspace_of(self, uri: str) -> str:
        """The innermost folder of the workspace that holds the document; empty where none does."""
        path = uri_path(uri) or ""
        return max(
            (root for root in self.roots if path.startswith(root.rstrip("/") + "/")), key=len, default=""
        )

    async def _run(self, query: Query, trace: Trace, run: Run) -> Outcome:
        with trace.stage("gate"):
            silence = self.rule(query)
        if silence is not None:
            return silence
        settings = self.settings
        with trace.stage("site"):
            site = site_of(query, settings.prefix_chars, settings.suffix_chars)
        if site is None:
            return Silence("The selected entry of the popup does not fit the text at the cursor.")
        work = Work(query, settings, site, run, trace=trace)
        for name, stage in self.stages:
            if work.found and name in _WRITING:
                continue
            with trace.stage(name):
                outcome = stage(work)
                if isawaitable(outcome):
                    outcome = await outcome
            if outcome is not None:
                return outcome
        raise AssertionError("the last stage makes an offer")

    def _look_around(self, work: Work) -> None:
        work.context = self.context.at(work.query, work.site)
        if work.context:
            work.trace.notes["context"] = f"of other files: {len(work.context)}"

    def _recall(self, work: Work) -> Outcome | None:
        query, site = work.query, work.site
        hits = self.cache.find(query.document.uri, site, manual=query.manual)
        work.found = tuple(filter(None, (_refit(hit, site) for hit in hits)))
        if not work.found:
            return None
        logger.info("offer %s answered from the cache", work.found[0].id)
        more = query.manual and not self._alternatives.known(work.found)
        return None if more else self._offer(work)

    async def _follow(self, work: Work) -> Outcome | None:
        alone = work.run.ahead or work.found
        if not alone and await self.running.follow(work.query, work.site):
            return self._recall(work)
        return None

    def _judge_moment(self, work: Work) -> Outcome | None:
        disabled, past = work.settings.disabled_scopes, self.history.past(work.query.document.uri)
        scope = self._scope(work) if disabled else Scope.CODE
        moment = Moment(work.query, work.site, past, scope, disabled)
        # Ahead of a request, only what no later one changes counts.
        reason = scope_disabled(moment) if work.run.ahead else why_not(moment)
        return Silence(reason) if reason else None

    def _measure_out(self, work: Work) -> None:
        work.extent = extent_of(work.site, work.settings, self._scope(work))
        work.trace.notes["extent"] = work.extent.why

    def _scope(self, work: Work) -> Scope:
        query = work.query
        return scope_of(query, work.site, self.trees.view(query.document, query.cursor.line))

    async def _ask(self, work: Work) -> Outcome | None:
        known = None if work.run.ahead else self.answers.rest(work)
        if known is not None:
            work.completion = known
            work.trace.notes["model"] = "not asked: the rest of what it wrote before"
            return None
        if not self.running.ask(work.run, work.site):
            return Silence("A request came before this could be completed ahead of time.")
        outcome = await self._asking.ask(work)
        if work.completion is not None and not work.run.reads:
            self.answers.put(work)
        return outcome

    def _filter(self, work: Work) -> Outcome | None:
        work.text, emptied_by = _filtered(work, work.answer)
        return None if work.text else Silence(nothing_left(work.answer, emptied_by))

    def _fit(self, work: Work, completion: Completion) -> str:
        return _filtered(work, completion)[0]

    def _weigh(self, work: Work) -> Outcome | None:
        return weigh(work, self.wanted(work.query.document.language))

    def _keep(self, work: Work) -> None:
        hit = Hit(f"v{next(self._numbers)}", "", work.text, fitted=work.guidance is not None)
        cut = work.answer.finish in HURRIED and not work.query.manual
        self.cache.put(work.query.document.uri, work.site, hit, cut=cut)
        work.found = (hit,)

    def _remember(self, work: Work, text: str) -> Hit:
        fitted = work.guidance is not None
        hit = Hit(f"v{next(self._numbers)}", "", text, fitted=fitted, sampled=True)
        self.cache.put(work.query.document.uri, work.site, hit)
        return hit

    def _offer(self, work: Work) -> Outcome:
        query = work.query
        offers = [
            make_offer(hit.id, hit.typed, hit.text, query, work.site, fitted=hit.fitted) for hit in work.found
        ]
        if not query.manual:
            unwanted = self.rejections.unwanted
            offers = [offer for offer in offers if not unwanted(query.document, offer.start, offer.text)]
        if not offers:
            return Silence("This was passed over here before. Ask by hand to see it all the same.")
        line = None if work.found[0].fitted else first_line(offers[0], query, work.site)
        others = {offer.text: offer for offer in (*offers[1:], line) if offer is not None}
        return (offers[0], *list(others.values())[: MOST - 1])


def _filtered(work: Work, completion: Completion) -> tuple[str, str]:
    """What the filters leave of `completion`, and the one that left nothing (else an empty string)."""
    cut_off = completion.finish in CUT_OFF
    if work.guidance is None:
        return apply_filters(completion.text, work.site, cut_off=cut_off)
    return work.guidance.fit(completion.text, cut_off=cut_off), "JSON"


def _refit(hit: Hit, site: Site) -> Hit | None:
    """`hit` for what stands behind the cursor by now; None where nothing is left of it."""
    if not hit.moved:
        return hit
    text = drop_next_lines(cut_tail_overlap(hit.text, site), site) if hit.text else ""
    return replace(hit, text=text) if text else None
