"""What the user is told: a quiet status for the editor's status line, and at most one message per trouble.

`velospec/status` is a notification of our own (docs/protocol.md); editors that do not know it ignore it.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lsprotocol import types

from velospec.core.errors import DaemonError, VeloSpecError

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

DAEMON_AWAY = "daemon away"
"""Key of the one message about a daemon that cannot be reached, whoever notices first."""

STATUS_METHOD = "velospec/status"


class Kind(StrEnum):
    """States of the server as a whole."""

    READY = "ready"
    LOADING = "loading"  # a model is being loaded
    INSTALLING = "installing"  # a model is being downloaded
    INACTIVE = "inactive"  # it completes nothing, by setting or for want of a model
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class State:
    """`message` is one line; `fraction` tells how far loading or installing is, 0 to 1, where known."""

    kind: Kind
    message: str = ""
    fraction: float | None = None


class StatusReporter:
    """Tells the client the server's state when it changes, and each trouble once until it is over."""

    def __init__(self, server: LanguageServer) -> None:
        self.state = State(Kind.READY)
        self._server = server
        self._told: set[str] = set()

    def set(self, kind: Kind, message: str = "", fraction: float | None = None) -> None:
        """Change the state. READY ends all troubles: they may be told again."""
        state = State(kind, message, fraction)
        if kind is Kind.READY:
            self._told.clear()
        if state == self.state:
            return
        self.state = state
        params = {key: value for key, value in asdict(state).items() if value is not None}
        self._server.protocol.notify(STATUS_METHOD, params)

    def trouble(self, error: VeloSpecError) -> None:
        """Something does not work: the state says so until it does, and a message says it once."""
        self.set(Kind.ERROR, error.cause)
        # While the daemon is away, each question fails with another time until the next attempt.
        key = DAEMON_AWAY if isinstance(error, DaemonError) else f"{error.code}:{error.cause}"
        self.warn_once(str(error), key=key, kind=types.MessageType.Error)

    def warn_once(
        self, message: str, *, key: str = "", kind: types.MessageType = types.MessageType.Warning
    ) -> None:
        """Show `message` to the user, unless it (or one of the same `key`) was shown since the last READY."""
        key = key or message
        if key in self._told:
            return
        self._told.add(key)
        logger.warning("told the user: %s", message)
        self.show(message, kind)

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show `message` to the user."""
        self._server.window_show_message(types.ShowMessageParams(kind, f"VeloSpec: {message}"))
