"""workspace/executeCommand: velospec.accepted, velospec.status, velospec.why, velospec.restart.

Each answers with an object whose `text` an editor can show as it is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from velospec.core.acceptance_counts import KINDS, RECENT_DAYS
from velospec.core.errors import VeloSpecError
from velospec_lsp.completion.site import Query
from velospec_lsp.handlers.convert import ACCEPTED
from velospec_lsp.text import Place

if TYPE_CHECKING:
    from velospec_lsp.server import Server

logger = logging.getLogger(__name__)


def register(server: Server) -> None:
    """Register the commands. Arguments that a command does not know are ignored."""

    @server.command(ACCEPTED)
    def accepted(*arguments: Any) -> None:
        server.counts["accepted"] += 1
        identity = str(arguments[0])[:20] if arguments else "?"
        logger.info("offer %s was accepted", identity)
        server.listeners.accepted(identity)

    @server.command("velospec.status")
    async def status(*_arguments: Any) -> dict[str, Any]:
        return await _status(server)

    @server.command("velospec.why")
    def why(*arguments: Any) -> dict[str, Any]:
        uri = arguments[0] if arguments and isinstance(arguments[0], str) else None
        return _why(server, uri)

    @server.command("velospec.restart")
    async def restart(*_arguments: Any) -> dict[str, Any]:
        server.arbiter.withdraw()
        try:
            await server.link.restart()
        except VeloSpecError as error:
            server.link.failed(error)
            return {"text": str(error)}
        return {"text": "The daemon was started anew, and the model is loaded."}


async def _status(server: Server) -> dict[str, Any]:
    state = server.status.state
    try:
        daemon: dict[str, Any] | None = await server.link.status()
        said = "running"
    except VeloSpecError as error:
        daemon, said = None, str(error)
    models = [str(model.get("name")) for model in (daemon or {}).get("models", [])]
    counts = server.counts
    feedback = {language: dict(kinds) for language, kinds in sorted(server.feedback.totals().items())}
    lines = [
        f"State: {state.kind.value}{': ' + state.message if state.message else ''}",
        f"Daemon: {said}",
        f"Models in memory: {', '.join(models) or 'none'}",
        "This editor: {requests} requests, {offers} offers, {accepted} accepted".format(**counts),
        *(f"Last {RECENT_DAYS} days, {language}: {_in_words(kinds)}" for language, kinds in feedback.items()),
    ]
    return {
        "text": "\n".join(lines),
        "kind": state.kind.value,
        "message": state.message,
        "counts": dict(counts),
        "feedback": feedback,
        "daemon": daemon,
    }


def _in_words(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds.get(kind))


def _why(server: Server, uri: str | None) -> dict[str, Any]:
    """Why the last request of `uri` (of the last document asked for, if None) ended as it did."""
    uri = uri or next(reversed(server.traces), None)
    document = server.documents.get(uri) if uri else None
    if uri is None or document is None:
        return {"text": "No open document of that name has been told to the server."}
    silence = server.pipeline.rule(Query(document, Place(0, 0)))
    if silence is not None:
        return {"text": silence.reason, "reason": silence.reason, "stage": "gate"}
    trace = server.traces.get(uri)
    if trace is not None:
        return {"text": trace.describe(), **trace.to_dict()}
    return {"text": "Nothing keeps completions from this file; the editor has not asked for one yet."}
