"""velospec.workspace.show, export, forget, stats: what was learned of the workspace, for the user to see.

The first argument is the URI of a document or a folder, which names the workspace; without it, it is the
first folder. All answer with an object whose `text` can be shown as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from velospec.core.errors import VeloSpecError
from velospec_lsp.privacy import uri_path

if TYPE_CHECKING:
    from velospec_lsp.server import Server

Result = dict[str, Any]
_NONE = "Nothing is learned here: the file lies in no folder of the workspace."
_FILE = "file"


def register(server: Server) -> None:
    """Register the commands."""

    @server.command("velospec.workspace.show")
    async def show(*arguments: Any) -> Result:
        return await _of(server, arguments, lambda name: _show(server, name))

    @server.command("velospec.workspace.export")
    async def export(*arguments: Any) -> Result:
        return await _of(server, arguments, lambda name: _export(server, name))

    @server.command("velospec.workspace.forget")
    async def forget(*arguments: Any) -> Result:
        document = str(arguments[0]) if arguments[1:2] == (_FILE,) else None
        return await _of(server, arguments, lambda name: _forget(server, name, document))

    @server.command("velospec.workspace.stats")
    async def stats(*_arguments: Any) -> Result:
        return await _told(_stats(server))


async def _of(
    server: Server, arguments: tuple[Any, ...], answer: Callable[[str], Awaitable[Result]]
) -> Result:
    """What `answer` says of the workspace that the arguments name."""
    name = _workspace(server, arguments)
    return await _told(answer(name)) if name else {"text": _NONE}


async def _told(answer: Awaitable[Result]) -> Result:
    """The answer, or in its place why there is none."""
    try:
        return await answer
    except VeloSpecError as error:
        return {"text": str(error)}


def _workspace(server: Server, arguments: tuple[Any, ...]) -> str:
    """The workspace that is meant; empty where there is none."""
    roots = server.pipeline.roots
    if not arguments or not isinstance(arguments[0], str):
        return roots[0] if roots else ""
    path = uri_path(arguments[0]) or ""
    whole = next((root for root in roots if root.rstrip("/") == path.rstrip("/")), "")
    return whole or server.pipeline.workspace_of(arguments[0])


async def _show(server: Server, workspace: str) -> Result:
    known = await server.link.daemon.export(workspace)
    documents = sorted(known["documents"], key=lambda each: (-each["relevance"], each["path"]))
    for each in documents:
        each["lines"] = each.pop("text").count("\n")
    lines = [
        f"Learned of {workspace}: {_files(len(documents))}, {known['lines']} lines.",
        *(f"{each['lines']:7d}  {each['path']}" for each in documents),
    ]
    return {**known, "documents": documents, "text": "\n".join(lines)}


async def _export(server: Server, workspace: str) -> Result:
    known = await server.link.daemon.export(workspace)
    return {"text": f"All that is kept of {workspace}: {_files(len(known['documents']))}.", **known}


async def _forget(server: Server, workspace: str, document: str | None) -> Result:
    count = await server.learner.forget(workspace, document)
    return {
        "text": f"Forgot what was learned of {workspace}: {_files(count)}.",
        "workspace": workspace,
        "forgotten": count,
    }


async def _stats(server: Server) -> Result:
    found = await server.link.daemon.knowledge()
    lines = [
        f"{each['workspace']}: {_files(each['documents'])}, {each['lines']} lines; "
        + ", ".join(f"{count} {kind}" for kind, count in each["receptions"].items())
        for each in found
    ]
    return {"text": "\n".join(lines) or "Nothing was learned of any workspace yet.", "workspaces": found}


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
