"""What the daemon needs of an engine: `engine.Engine` is one, tests bring their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from velospec.core.cancellation import CancelToken
    from velospec.core.request import Completion, InfillRequest, TextRequest
    from velospec.models.store import InstalledModel

OnText = Callable[[str], None]
Fraction = Callable[[float], None]


class ServedEngine(Protocol):
    """What a worker needs of an engine; `engine.Engine` is one."""

    @property
    def memory_bytes(self) -> int: ...

    def infill(
        self, request: InfillRequest, cancel: CancelToken, on_text: OnText | None = None
    ) -> Completion: ...

    def generate(
        self, request: TextRequest, cancel: CancelToken, on_text: OnText | None = None
    ) -> Completion: ...

    def measure(self, progress: Fraction, cancel: CancelToken) -> dict[str, Any]:
        """Measure the model and keep the result; `cancel` abandons it with CancelledError."""
        ...

    def study(self) -> bool:
        """Read a little of what was taught, for some milliseconds; whether there is more."""
        ...

    def describe(self) -> dict[str, Any]:
        """For the status: `measured` (whether a profile is known) and what else is worth telling."""
        ...

    def close(self) -> None: ...


OpenEngine = Callable[["InstalledModel", Fraction], ServedEngine]
