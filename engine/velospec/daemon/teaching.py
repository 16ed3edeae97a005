"""The part of the daemon's client that teaches it workspaces. None of it needs a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from velospec.daemon import learning_frames as f

if TYPE_CHECKING:
    from velospec.core.learning import Feedback, Lesson
    from velospec.daemon import protocol as p


class Teaching(ABC):
    """What `client.DaemonClient` can say about workspaces. Every method raises VeloSpecError only."""

    async def learn(self, lesson: Lesson) -> bool:
        """Teach a document's state; False where the daemon lacks the version that the changes were made of.

        It then wants the whole text. It takes in lessons of one client in the order of the calls.
        """
        return bool(await self._ask(f.Learn(0, lesson)))

    async def rename(self, workspace: str, document: str, new: str, path: str = "") -> bool:
        """A document has another name and path now; whether it was known."""
        return bool(await self._ask(f.Rename(0, workspace, document, new, path)))

    async def forget(self, workspace: str, document: str | None = None) -> int:
        """Have a document, or all of a workspace, forgotten, on the disk too; how many documents it was."""
        return int(await self._ask(f.Forget(0, workspace, document)))

    async def known(self, workspace: str) -> dict[str, str]:
        """The documents that are known, each with the digest of its text.

        For a look at what changed, vanished or became private while nobody watched.
        """
        return dict(await self._ask(f.Known(0, workspace)))

    async def knowledge(self, workspace: str | None = None) -> list[dict[str, Any]]:
        """Counts of one workspace or of all, see `Workspace.counts`."""
        return list(await self._ask(f.Knowledge(0, workspace)))

    async def export(self, workspace: str) -> dict[str, Any]:
        """All that is kept of a workspace."""
        return dict(await self._ask(f.Export(0, workspace)))

    async def judge(self, feedback: Feedback) -> None:
        """Tell what the user made of a completion."""
        await self._ask(f.Judge(0, feedback))

    @abstractmethod
    async def _ask(self, frame: p.Request) -> Any:
        """Send a request and wait for its result."""
