"""workspace/didChangeWatchedFiles and didRenameFiles: what happens to files that are not open."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from velospec_lsp.server import Server

logger = logging.getLogger(__name__)

_ALL = types.FileOperationRegistrationOptions(
    [types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)


def register(server: Server) -> None:
    """Register the handlers."""

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        server.learner.changed([change.uri for change in params.changes])

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, _ALL)
    def did_rename(params: types.RenameFilesParams) -> None:
        for file in params.files:
            server.learner.renamed(file.old_uri, file.new_uri)


async def ask_for_changes(server: Server) -> None:
    """Have the client tell of files that change, if it can; else they are looked at now and then."""
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    if not (watching and watching.dynamic_registration):
        return
    # All, since of a folder that is removed some clients tell nothing but its own name.
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
    registration = types.Registration("velospec-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    try:
        await asyncio.wait_for(
            server.client_register_capability_async(types.RegistrationParams([registration])), 60
        )
    except (JsonRpcException, TimeoutError):
        logger.info("the client tells no changes of files")
    else:
        server.learner.survey.watched = True
