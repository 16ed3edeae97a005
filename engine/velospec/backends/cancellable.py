"""A backend that looks at a cancel token before each native call, for work without a loop of its own.

Knows nothing of what the work is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from velospec.backends.base import Backend, Logits
from velospec.core.cancellation import CancelToken
from velospec.core.errors import CancelledError


class CancellableBackend:
    """Passes everything on to `backend`; `prefill` and `decode` raise CancelledError once `cancel` is set."""

    def __init__(self, backend: Backend, cancel: CancelToken) -> None:
        self._backend = backend
        self._cancel = cancel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        self._check()
        self._backend.prefill(slot, ids, position)

    def decode(self, slot: int, ids: Sequence[int], position: int) -> Logits:
        self._check()
        return self._backend.decode(slot, ids, position)

    def _check(self) -> None:
        if self._cancel.cancelled:
            raise CancelledError("The work was cancelled.")
