"""The server's tie to the daemon: asks it, turns its news into status and progress, has a model offered.

The one place of the language server that knows the daemon's client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from velospec.core.errors import ModelNotFoundError, VeloSpecError
from velospec.daemon.client import DaemonClient
from velospec.daemon.protocol import Event, EventKind
from velospec_lsp.model_offer import ModelOffer
from velospec_lsp.progress import ProgressBar
from velospec_lsp.status import DAEMON_AWAY, Kind, StatusReporter

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from velospec.core.request import Completion, InfillRequest, TextRequest
    from velospec.daemon.teaching import Teaching

logger = logging.getLogger(__name__)


class ModelLink:
    """Asks the daemon on the server's behalf. The daemon is started by the first question."""

    def __init__(self, server: LanguageServer, status: StatusReporter) -> None:
        self.offer = ModelOffer(server, status, self._installed)
        self.model: str | None = None
        self.on_restart: Callable[[], None] = lambda: None  # hears that another daemon has taken its place
        self._server = server
        self._status = status
        self._client: DaemonClient | None = None
        self._bar: ProgressBar | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._prepared = False

    async def infill(
        self,
        request: InfillRequest,
        *,
        model: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Complete at a cursor; `on_text` gets it in pieces. Raises VeloSpecError."""
        completion = await self._connection().infill(request, model=model, on_text=on_text)
        self._status.set(Kind.READY)
        return completion

    async def generate(
        self,
        request: TextRequest,
        *,
        model: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Continue a text; `on_text` gets it in pieces. Raises VeloSpecError."""
        completion = await self._connection().generate(request, model=model, on_text=on_text)
        self._status.set(Kind.READY)
        return completion

    def prepare(self, model: str | None) -> None:
        """Have the model loaded before it is needed; once, unless `model` changes. Returns at once."""
        if self._prepared and model == self.model:
            return
        self._prepared, self.model = True, model
        self._start(self._load())

    @property
    def daemon(self) -> Teaching:
        """What the daemon can be told of workspaces."""
        return self._connection()

    async def status(self) -> dict[str, Any]:
        """The daemon's state. Raises VeloSpecError."""
        return await self._connection().status()

    async def restart(self) -> None:
        """End the daemon and start a new one with the model loaded. Raises VeloSpecError."""
        await self._connection().stop()
        await self.close_client()
        await self._connection().load(self.model)
        self._status.set(Kind.READY)
        self.on_restart()

    async def close_client(self) -> None:
        """Leave the daemon; the next question comes back to it."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def close(self) -> None:
        """Stop all that runs for this server, an installation included, and leave the daemon."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.offer.close()
        await self.close_client()

    def failed(self, error: VeloSpecError) -> None:
        """Tell the user what kept a question from being answered; where no model is there, offer one."""
        if isinstance(error, ModelNotFoundError) and not self.model:
            self._status.set(Kind.INACTIVE, "No model is installed.")
            self.offer.make(error)
        else:
            self._status.trouble(error)

    async def _load(self) -> None:
        try:
            await self._connection().load(self.model)
        except VeloSpecError as error:
            self.failed(error)
        else:
            self._status.set(Kind.READY)

    async def _installed(self) -> None:
        await self._load()

    def _connection(self) -> DaemonClient:
        if self._client is None:
            self._client = DaemonClient("velospec-lsp", on_event=self._on_event)
        return self._client

    def _on_event(self, event: Event) -> None:
        if event.kind is EventKind.LOADING:
            self._loading(event)
        elif event.kind is EventKind.READY:
            self._loaded()
        elif event.kind is EventKind.CRASHED:
            self._loaded("stopped")
            self._status.set(Kind.ERROR, event.message)
            self._status.warn_once(event.message, key=DAEMON_AWAY)
        elif event.kind is EventKind.RESTARTED:
            logger.info("the daemon runs again")
            self._status.set(Kind.READY)
            self.on_restart()
        else:
            logger.info("daemon: %s %s", event.kind.value, event.message)

    def _loading(self, event: Event) -> None:
        title = f"Loading {event.model}" if event.model else "Loading the model"
        self._status.set(Kind.LOADING, title, event.fraction)
        if self._bar is None:
            self._bar = ProgressBar(self._server, title)
            self._start(self._bar.begin())
        self._bar.report(event.fraction)

    def _loaded(self, message: str = "") -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.end(message)
        self._status.set(Kind.READY)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
