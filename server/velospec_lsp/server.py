"""The language server's state and its parts, put together. What a message means is in `handlers`."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer

from velospec import __version__
from velospec_lsp import handlers
from velospec_lsp.completion.arbiter import Arbiter
from velospec_lsp.completion.fate import FateWatch
from velospec_lsp.completion.feedback import Feedback
from velospec_lsp.completion.offer import Outcome, Silence
from velospec_lsp.completion.pipeline import Pipeline
from velospec_lsp.completion.prefetch import Prefetch
from velospec_lsp.completion.site import Query
from velospec_lsp.completion.trace import Trace
from velospec_lsp.documents import Documents
from velospec_lsp.editing.session import Edits
from velospec_lsp.events import Listeners
from velospec_lsp.learning.desk import Desk
from velospec_lsp.learning.learner import Learner
from velospec_lsp.model_link import ModelLink
from velospec_lsp.privacy import PrivacyGate, uri_path
from velospec_lsp.protocol import Protocol
from velospec_lsp.settings import Settings, parse_settings
from velospec_lsp.status import Kind, StatusReporter
from velospec_lsp.text import Place

logger = logging.getLogger(__name__)

_TRACES = 200  # documents whose last completion is remembered


class Server(LanguageServer):
    """One editor's server. All of it lives in one event loop."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "velospec",
            __version__,
            types.TextDocumentSyncKind.Incremental,
            handlers.notebook.SYNC,
            protocol_cls=Protocol,
        )
        self.documents = Documents()
        self.status = StatusReporter(self)
        self.link = ModelLink(self, self.status)
        self.pipeline = Pipeline(self.link, self.link.failed, self.status.warn_once)
        self.arbiter: Arbiter[Outcome] = Arbiter()
        self.edits = Edits()
        self.listeners = Listeners()
        self.feedback = Feedback()
        self.pipeline.wanted = self.feedback.rate
        self.prefetch = Prefetch(self.pipeline)
        fates = FateWatch(self.listeners.decided)
        pipeline = self.pipeline
        watching = (pipeline, pipeline.trees, pipeline.history, pipeline.answers, pipeline.context)
        self.learner = Learner(lambda: self.link.daemon, self._desk())
        self.link.on_restart = self.learner.begin_anew
        for listener in (*watching, fates, pipeline.rejections, self.feedback, self.prefetch, self.learner):
            self.listeners.add(listener)
        self.traces: OrderedDict[str, Trace] = OrderedDict()
        self.counts = {"requests": 0, "offers": 0, "accepted": 0}
        self.configuring = False  # the client was asked for its configuration and has not answered yet
        self.initial = Settings()  # the defaults under what the client configures later
        self._problems: list[str] = []
        handlers.register_all(self)

    @property
    def settings(self) -> Settings:
        return self.pipeline.settings

    def configure(self, options: Any, *, initial: bool = False) -> None:
        """Take over settings that the client has sent; what is wrong with them is told once."""
        settings, problems = parse_settings(options, None if initial else self.initial)
        if initial:
            self.initial = settings
        if settings != self.pipeline.settings:
            self.pipeline.settings = settings
            self.pipeline.cache.forget()
        self.make_gate()
        self.link.offer.enabled = settings.offer_model
        if not settings.enabled:
            self.status.set(Kind.INACTIVE, "Switched off by the setting velospec.enabled.")
        elif self.status.state.kind is Kind.INACTIVE:
            self.status.set(Kind.READY)
        new = [problem for problem in problems if problem not in self._problems]
        self._problems = problems
        if new:
            self.status.show(" ".join(new), types.MessageType.Warning)
        for open_document in self.documents:
            self.prepare(open_document.uri)

    def make_gate(self) -> None:
        """Make the privacy gate anew, after settings or workspace folders have changed."""
        folders = self.workspace.folders.values()
        roots = tuple(path for folder in folders if (path := uri_path(folder.uri)))
        self.pipeline.roots = roots
        self.pipeline.gate = PrivacyGate(self.settings.exclude, self.settings.max_file_kb, roots)
        self.learner.reconsider()

    def prepare(self, uri: str) -> None:
        """A document was opened: have the model ready, if it may complete there."""
        if self.configuring:
            return  # it may name another model; `configure` comes back to this
        document = self.documents.get(uri)
        if document and self.pipeline.rule(Query(document, Place(0, 0))) is None:
            self.link.prepare(self.settings.model or None)

    async def complete(self, query: Query) -> Outcome:
        """The pipeline's outcome, its trace kept for those who ask why. Never fails but by cancellation."""
        self.counts["requests"] += 1
        self.listeners.asked(query)
        trace = Trace()
        try:
            outcome = await self.pipeline.complete(query, trace)
        except Exception:  # a fault of ours must not become a pop-up at each key
            logger.exception("a completion failed")
            outcome = Silence("An internal error; see the log file.")
            trace.reason = outcome.reason
        self.counts["offers"] += not isinstance(outcome, Silence)
        self._keep(query.document.uri, trace)
        if self.documents.get(query.document.uri) is query.document:
            self.listeners.answered(query, outcome)
        return outcome

    def _desk(self) -> Desk:
        return Desk(
            gate=lambda: self.pipeline.gate,
            folder_of=self.pipeline.workspace_of,
            settled=lambda: self.settings.enabled and not self.configuring,
            learns=lambda: self.settings.learn,
            forgotten=self._forget,
        )

    def _forget(self, uri: str) -> None:
        """Drop what is kept of a document's text beside the document itself."""
        self.pipeline.forget(uri)
        self.traces.pop(uri, None)

    def _keep(self, uri: str, trace: Trace) -> None:
        self.traces[uri] = trace
        self.traces.move_to_end(uri)
        while len(self.traces) > _TRACES:
            self.traces.popitem(last=False)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Faults go to the log; a pop-up in the editor helps nobody."""
        if isinstance(error, JsonRpcMethodNotFound):
            return  # the client's doing, and answered
        logger.error("%s in %s", type(error).__name__, getattr(source, "__name__", source), exc_info=error)

    async def close(self) -> None:
        """Stop all work and leave the daemon."""
        self.arbiter.withdraw()
        self.edits.withdraw()
        self.prefetch.stop()
        self.pipeline.running.stop()
        self.feedback.write()
        await self.learner.close()
        await self.pipeline.context.close()
        await self.link.close()
