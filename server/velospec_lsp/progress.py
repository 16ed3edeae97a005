"""Progress bars in the editor, for work that the server starts by itself."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)


class ProgressBar:
    """One bar. Where the client shows none, nothing happens; `shown` tells."""

    def __init__(
        self, server: LanguageServer, title: str, on_cancel: Callable[[], None] | None = None
    ) -> None:
        """`on_cancel` is called if the user cancels; without it the bar offers no cancelling."""
        self._server = server
        self._title = title
        self._on_cancel = on_cancel
        self._token: str | None = None
        self._percentage = -1
        self._ended = False
        self._beginning: asyncio.Task[None] | None = None

    @property
    def shown(self) -> bool:
        return self._token is not None

    def start(self) -> None:
        """Begin without waiting for the client; `end` may come before it has answered."""
        self._beginning = asyncio.ensure_future(self.begin())

    async def begin(self) -> None:
        """Ask the client for a bar and start it."""
        window = self._server.client_capabilities.window
        if window is None or not window.work_done_progress:
            return
        token = f"velospec-{uuid.uuid4()}"
        progress = self._server.work_done_progress
        try:
            await progress.create_async(token)
        except JsonRpcException:
            logger.info("the client refused a progress bar")
            return
        if self._ended:  # the work was quicker than the client
            progress.tokens.pop(token, None)
            return
        self._token = token
        progress.begin(
            token,
            types.WorkDoneProgressBegin(
                title=self._title, cancellable=self._on_cancel is not None, percentage=0
            ),
        )
        progress.tokens[token].add_done_callback(lambda future: self._cancelled(future.cancelled()))

    def report(self, fraction: float | None, message: str | None = None) -> None:
        """Move the bar to `fraction`, 0 to 1; a report for each percent at most."""
        percentage = None if fraction is None else min(100, max(0, int(100 * fraction)))
        if self._token is None or percentage == self._percentage:
            return
        self._percentage = -1 if percentage is None else percentage
        self._server.work_done_progress.report(
            self._token, types.WorkDoneProgressReport(message=message, percentage=percentage)
        )

    def end(self, message: str = "") -> None:
        """Take the bar away. Further calls do nothing."""
        self._ended = True
        if self._token is not None:
            token, self._token = self._token, None
            progress = self._server.work_done_progress
            progress.end(token, types.WorkDoneProgressEnd(message=message or None))
            progress.tokens.pop(token, None)

    def _cancelled(self, cancelled: bool) -> None:  # noqa: FBT001  # a callback's only argument
        if cancelled and self._on_cancel is not None:
            self._on_cancel()
