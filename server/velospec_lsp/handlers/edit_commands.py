"""workspace/executeCommand: velospec.edit, velospec.docstring, velospec.rename-suggest.

Each takes one object, `{uri, range or position, instruction}`, has the editor make the changes, and answers
with an object that tells whether they were made: `applied`, `text`, and `reason` where they were not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from velospec.core.errors import CancelledError, VeloSpecError
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Position
from velospec_lsp.editing.calls import RefusedError
from velospec_lsp.editing.chat import ChatModel
from velospec_lsp.editing.edits import Editor, Job, OnFraction, Plan
from velospec_lsp.editing.session import Outcome, Running
from velospec_lsp.editing.source import Source, apply_changes
from velospec_lsp.handlers.convert import to_range
from velospec_lsp.progress import ProgressBar
from velospec_lsp.text import Place

if TYPE_CHECKING:
    from velospec_lsp.server import Server

logger = logging.getLogger(__name__)

EDIT, DOCSTRING, RENAME = "velospec.edit", "velospec.docstring", "velospec.rename-suggest"

_TITLES = {EDIT: "Editing", DOCSTRING: "Documenting", RENAME: "Looking for a name"}
_SUPERSEDED = "A newer edit of this document took this one's place, or the document was closed."
_CANCELLED = "It was cancelled."
_CONFIRM_SECONDS = 2.0  # editors tell changes with a delay, Neovim 150 ms

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Order:
    """One command: what to do, and where."""

    command: str
    uri: str
    start: Position
    end: Position
    instruction: str = ""


def register(server: Server) -> None:
    """Register the commands."""
    editor = Editor(ChatModel(server.link))

    def define(command: str) -> None:
        @server.command(command)
        def run(*arguments: Any) -> Result | Awaitable[Result]:
            order = _read(command, arguments)
            return _start(server, editor, order)

    for command in (EDIT, DOCSTRING, RENAME):
        define(command)


def _read(command: str, arguments: tuple[Any, ...]) -> _Order:
    """The order that the client's arguments are. Raises JsonRpcInvalidParams."""
    given: Any = arguments[0] if arguments else None
    try:
        at = given.get("range") or {"start": given["position"], "end": given["position"]}
        start, end = (
            Position(int(at[each]["line"]), int(at[each]["character"])) for each in ("start", "end")
        )
        return _Order(command, str(given["uri"]), start, end, str(given.get("instruction") or ""))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JsonRpcInvalidParams(f"{command} takes one object with uri, and range or position.") from error


def _start(server: Server, editor: Editor, order: _Order) -> Result | Awaitable[Result]:
    """Begin at once with what the document is now; what takes time is the returned awaitable."""
    document = server.documents.get(order.uri)
    if document is None:
        return _result(server, Outcome(applied=False, message="No such document is open."))
    silence = server.pipeline.rule(Query(document, Place(0, 0)))
    if silence is not None:
        return _result(server, Outcome(applied=False, message=silence.reason))
    workspace = server.client_capabilities.workspace
    if not (workspace and workspace.apply_edit):
        return _result(server, Outcome(applied=False, message="The editor takes no edits from a server."))
    source = Source.of(document)
    start, end = sorted(source.offset(document.place(at)) for at in (order.start, order.end))
    job = Job(source, start, end, server.pipeline.workspace_of(order.uri), server.settings.speculate)

    async def work(running: Running) -> Outcome:
        return await _work(server, running, order.command, lambda on: _plan(editor, order, job, on))

    answer = server.edits.start(source, work)
    server.protocol.on_cancel(answer.cancel)
    return _answered(server, answer)


def _plan(editor: Editor, order: _Order, job: Job, on_fraction: OnFraction) -> Awaitable[Plan]:
    if order.command == EDIT:
        return editor.edit(job, order.instruction, on_fraction)
    return (
        editor.document(job, on_fraction) if order.command == DOCSTRING else editor.rename(job, on_fraction)
    )


async def _answered(server: Server, answer: Awaitable[Outcome | None]) -> Result:
    outcome = await answer
    if outcome is None:
        outcome = Outcome(applied=False, message=_SUPERSEDED, told=True)
    return _result(server, outcome)


def _result(server: Server, outcome: Outcome) -> Result:
    """What the client gets; a reason that the user does not know yet is shown, once."""
    if not outcome.applied and not outcome.told:
        server.status.show(outcome.message, types.MessageType.Warning)
    result: Result = {"applied": outcome.applied, "text": outcome.message}
    if not outcome.applied:
        result["reason"] = outcome.message
    if outcome.suggestion:
        result["suggestion"] = outcome.suggestion
    return result


async def _work(
    server: Server, running: Running, command: str, plan: Callable[[OnFraction], Awaitable[Plan]]
) -> Outcome:
    """Make a plan with a progress bar, then have the editor carry it out."""
    bar = ProgressBar(server, _TITLES[command], lambda: running.stop(_CANCELLED, told=True))
    bar.start()
    message = ""
    try:
        made = await plan(bar.report)
        running.applying = True
        # The editor may make the changes whatever happens here from now on.
        outcome = await asyncio.shield(_apply(server, running, made))
        message = outcome.message if outcome.applied else ""
    except RefusedError as error:
        return Outcome(applied=False, message=error.reason, suggestion=error.suggestion)
    except CancelledError:
        return Outcome(applied=False, message=_SUPERSEDED, told=True)
    except VeloSpecError as error:
        return Outcome(applied=False, message=str(error))
    finally:
        bar.end(message)
    return outcome


async def _apply(server: Server, running: Running, plan: Plan) -> Outcome:
    """Have the editor make the changes, and see whether it has."""
    source = running.source
    params = types.ApplyWorkspaceEditParams(_workspace_edit(server, source, plan), "VeloSpec")
    try:
        answer = await server.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        logger.warning("the client refused an edit: %s", error)
        return Outcome(applied=False, message="The editor refused the edit.")
    if not answer.applied:
        reason = (answer.failure_reason or "").rstrip(".")
        return Outcome(
            applied=False, message=f"The editor did not make the edit{': ' * bool(reason)}{reason}."
        )
    # Some editors say yes to an edit of an older version and drop it.
    expected = apply_changes(source.text, plan.changes)
    until = asyncio.get_running_loop().time() + _CONFIRM_SECONDS
    while (now := server.documents.get(source.document.uri)) is not None:
        text = Source.of(now).text
        if text == expected or (left := until - asyncio.get_running_loop().time()) <= 0:
            break
        running.news.clear()
        try:
            await asyncio.wait_for(running.news.wait(), left)
        except TimeoutError:
            break
    if now is not None and Source.of(now).text == source.text:
        return Outcome(applied=False, message="The editor did not make the edit: the document is as it was.")
    return Outcome(applied=True, message=plan.message)


def _workspace_edit(server: Server, source: Source, plan: Plan) -> types.WorkspaceEdit:
    """The changes as the client counts; bound to the document's version where the client can do that."""
    document = server.documents.get(source.document.uri) or source.document
    line_end = source.line_end_of_document
    edits = [
        types.TextEdit(
            to_range(source.document, source.place(change.start), source.place(change.end)),
            change.text.replace("\n", line_end),
        )
        for change in plan.changes
    ]
    workspace = server.client_capabilities.workspace
    can = workspace.workspace_edit if workspace else None
    if not (can and can.document_changes):
        return types.WorkspaceEdit(changes={document.uri: edits})
    versioned = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, edits)])
