"""Errors a user may see: each names its cause and its remedy, and has a stable code for the wire."""

from __future__ import annotations


class VeloSpecError(Exception):
    """Base of all errors that VeloSpec raises on purpose.

    `cause` is one sentence on what went wrong; `remedy` is what the user can do, often a command line.
    """

    code = "error"

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause} {remedy}".strip())
        self.cause = cause
        self.remedy = remedy


class ModelNotFoundError(VeloSpecError):
    """No installed model has the wanted name or role."""

    code = "model-not-found"


class ModelLoadError(VeloSpecError):
    """The model file exists but llama.cpp cannot use it (corrupt, unsupported, too large)."""

    code = "model-load"


class InstallError(VeloSpecError):
    """A model could not be installed: offline, checksum, disk space, interruption."""

    code = "install"


class InfillError(VeloSpecError):
    """The model has no known infill format, so it cannot complete at a cursor."""

    code = "infill"


class ChatError(VeloSpecError):
    """The model has no chat template, or one that cannot be used, so it cannot answer messages."""

    code = "chat"


class ContextError(VeloSpecError):
    """The prompt does not fit the model's context."""

    code = "context"


class GrammarError(VeloSpecError):
    """A grammar or schema cannot be enforced, or the text before the cursor does not fit it."""

    code = "grammar"


class BackendError(VeloSpecError):
    """The backend refused an operation (a decode or a KV rollback failed)."""

    code = "backend"


class DaemonError(VeloSpecError):
    """The daemon cannot be started or reached, or it went away during the request."""

    code = "daemon"


class NativeCrashError(DaemonError):
    """The daemon died by a signal: the likely fault is the native build of llama-cpp-python."""

    code = "native-crash"


class ProtocolError(VeloSpecError):
    """The peer sent a frame that this version does not understand."""

    code = "protocol"


class SettingsError(VeloSpecError):
    """A setting has a wrong name, type or value."""

    code = "settings"


class CancelledError(VeloSpecError):
    """The request was cancelled, or a newer one of the same document took its place."""

    code = "cancelled"


ERRORS: dict[str, type[VeloSpecError]] = {
    error.code: error
    for error in (
        VeloSpecError,
        ModelNotFoundError,
        ModelLoadError,
        InstallError,
        InfillError,
        ChatError,
        ContextError,
        GrammarError,
        BackendError,
        DaemonError,
        NativeCrashError,
        ProtocolError,
        SettingsError,
        CancelledError,
    )
}
"""Error classes by wire code, for rebuilding an error on the other side of the daemon's socket."""
