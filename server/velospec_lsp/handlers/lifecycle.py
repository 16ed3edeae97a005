"""initialize, initialized, shutdown, $/setTrace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.lifetime import watch_parent

if TYPE_CHECKING:
    from velospec_lsp.server import Server


def register(server: Server, register_completion: Callable[[Server], None]) -> None:
    """Register the handlers; `register_completion` adds completion by popup."""
    watching: set[asyncio.Task[None]] = set()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.documents.encoding = PositionEncoding(server.workspace.position_encoding or "utf-16")
        server.configure(params.initialization_options, initial=True)
        if _wants_popup(params.capabilities, server.settings.completion):
            register_completion(server)
        if params.process_id is not None:
            task = asyncio.ensure_future(watch_parent(params.process_id, lambda: server.protocol.end(1)))
            watching.add(task)
            task.add_done_callback(watching.discard)

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.arbiter.withdraw()
        server.edits.withdraw()


def _wants_popup(capabilities: types.ClientCapabilities, setting: str) -> bool:
    """Whether to complete by popup: where the client has no inline completion, unless the user says else."""
    if setting != "auto":
        return setting == "always"
    document = capabilities.text_document
    return document is None or document.inline_completion is None
