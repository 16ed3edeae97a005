"""All workspaces that a process knows, apart from each other."""

from __future__ import annotations

import threading

from velospec.learning.workspace.documents import Workspace


class Workspaces:
    """Gives out workspaces by name. Any thread may use it."""

    def __init__(self) -> None:
        self._known: dict[str, Workspace] = {}
        self._lock = threading.Lock()

    def of(self, name: str) -> Workspace:
        """The workspace of that name, empty where nothing was learned of it."""
        with self._lock:
            return self._known.setdefault(name, Workspace(name))

    def names(self) -> list[str]:
        """The workspaces of which something is known."""
        with self._lock:
            return [name for name, each in self._known.items() if each.documents or each.receptions]

    def forget(self, name: str, document: str | None = None) -> int:
        """Forget a document, or with None the workspace; how many documents that were."""
        return self.of(name).forget(document)
