"""workspace/configuration and didChangeConfiguration: the settings, pulled where the client can."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from velospec_lsp.handlers.watch import ask_for_changes
from velospec_lsp.settings import SECTION

if TYPE_CHECKING:
    from velospec_lsp.server import Server

logger = logging.getLogger(__name__)


def register(server: Server) -> None:
    """Register the handlers."""
    tasks: set[asyncio.Task[None]] = set()

    def start_pull() -> None:
        task = asyncio.ensure_future(_pull(server))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        if _can_register(server):
            task = asyncio.ensure_future(_register_for_changes(server))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        if _can_pull(server):
            server.configuring = True
            start_pull()
        task = asyncio.ensure_future(ask_for_changes(server))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        if _can_pull(server):
            start_pull()
        else:
            server.configure(_section(params.settings))


def _section(settings: Any) -> Any:
    """Our part of pushed settings; settings without it are other servers'."""
    if isinstance(settings, dict):
        return settings.get(SECTION)
    return settings


async def _pull(server: Server) -> None:
    params = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    try:
        answer = await server.workspace_configuration_async(params)
    except JsonRpcException:
        logger.warning("the client did not answer the question for its configuration")
        answer = []
    server.configuring = False
    server.configure(answer[0] if answer else None)


async def _register_for_changes(server: Server) -> None:
    registration = types.Registration(
        id="velospec-configuration",
        method=types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        register_options={"section": SECTION},
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException:
        logger.info("the client tells no changes of its configuration")


def _can_pull(server: Server) -> bool:
    workspace = server.client_capabilities.workspace
    return bool(workspace and workspace.configuration)


def _can_register(server: Server) -> bool:
    workspace = server.client_capabilities.workspace
    changes = workspace.did_change_configuration if workspace else None
    return bool(changes and changes.dynamic_registration)
