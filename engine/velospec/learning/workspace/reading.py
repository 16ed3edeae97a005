"""What one engine has read of the workspaces: their documents in its own ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from velospec.learning.index import CorpusIndex
from velospec.learning.workspace.library import Workspaces


class Reading:
    """Reads workspaces into indexes, one workspace at a call."""

    def __init__(self, encode: Callable[[str], Sequence[int]], workspaces: Workspaces) -> None:
        self._encode = encode
        self._workspaces = workspaces
        self._indexes: dict[str, tuple[int, CorpusIndex]] = {}

    def study(self) -> bool:
        """Read a workspace that has changed; whether there may be another."""
        for name in self._workspaces.names():
            workspace = self._workspaces.of(name)
            revision = workspace.revision
            if self._indexes.get(name, (-1, None))[0] != revision:
                index = CorpusIndex(self._encode(each.text) for each in workspace.snapshot())
                self._indexes[name] = revision, index
                return True
        return False

    def index(self, workspace: str) -> CorpusIndex | None:
        """What was read of the workspace; None where nothing was."""
        return self._indexes.get(workspace, (-1, None))[1]
