"""The errors of the kernels. They stand apart from `velospec`'s, which this package may not import."""

from __future__ import annotations


class KernelError(Exception):
    """Base of all errors raised here: `cause` says what went wrong, `remedy` what can be done about it."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause} {remedy}".strip())
        self.cause = cause
        self.remedy = remedy


class ContractError(KernelError, ValueError):
    """An argument breaks the operation's contract; the message names it and both values."""


class BuildError(KernelError):
    """A CUDA source could not be compiled or loaded."""


class LaunchError(KernelError):
    """The CUDA runtime refused a launch."""
