"""One file per group of protocol methods: parse, call, convert. The protocol's types stay in here.

A handler is a plain function that runs at receipt; what takes time it returns as an awaitable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from velospec_lsp.handlers import (
    code_action,
    commands,
    completion,
    configuration,
    edit_commands,
    inline_completion,
    lifecycle,
    notebook,
    synchronize,
    text,
    watch,
    workspace,
)

if TYPE_CHECKING:
    from velospec_lsp.server import Server


def register_all(server: Server) -> None:
    """Register every handler. Completion by popup is added at initialization, for clients that need it."""
    lifecycle.register(server, completion.register)
    for module in (
        synchronize,
        notebook,
        inline_completion,
        configuration,
        commands,
        edit_commands,
        code_action,
        text,
        watch,
        workspace,
    ):
        module.register(server)
