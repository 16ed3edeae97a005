"""All workspaces that a process knows, apart from each other, and their files.

Two processes may work on one workspace: before a file is replaced, what another process has written since is
taken in, newer states of documents and what was forgotten there; neither loses what the other learned.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from velospec.learning.workspace.documents import Workspace, add_counts
from velospec.learning.workspace.store import (
    ASIDE,
    SUFFIX,
    Stored,
    UnusableError,
    WorkspaceFile,
    path_of,
)

MAX_STORE = 256 << 20
"""Bytes of all files together; where there are more, those written longest ago are removed."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    """A workspace and what of it is on the disk."""

    workspace: Workspace
    file: WorkspaceFile | None
    revision: int = 0  # that the file has
    stamp: tuple[int, int, int] | None = None  # of the file as it was last read or written
    saving: threading.Lock = field(default_factory=threading.Lock)  # held while the two are compared


class Workspaces:
    """Gives out workspaces by name. Any thread may use it.

    `messages` has what a user should be told, for whoever tells it to take out.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Keep what is learned in `folder`; None keeps it in memory alone."""
        self._folder = folder
        self._known: dict[str, _Kept] = {}
        self._lock = threading.RLock()
        self.messages: list[str] = []

    def of(self, name: str) -> Workspace:
        """The workspace of that name, as it was kept; empty where nothing was learned of it."""
        with self._lock:
            known = self._known.get(name)
            if known is None:
                file = None if self._folder is None else WorkspaceFile(path_of(self._folder, name))
                known = self._known[name] = _Kept(Workspace(name), file)
                if file is not None and file.path.exists():
                    self._take_in(known, file)
            return known.workspace

    def names(self) -> list[str]:
        """The workspaces at hand of which something is known."""
        with self._lock:
            spaces = [kept.workspace for kept in self._known.values()]
        return [each.name for each in spaces if each.documents or each.receptions]

    def recent(self) -> str | None:
        """The workspace to be ready for: one at hand, else that whose file was written last."""
        at_hand = self.names()
        if at_hand:
            return at_hand[-1]
        for path in reversed(self._files()):
            try:
                stored = WorkspaceFile(path).read()
            except UnusableError:
                continue  # told when the workspace is used
            if stored is not None and stored.name:
                self.of(stored.name)
                return stored.name
        return None

    def counts(self, name: str | None = None) -> list[dict[str, Any]]:
        """The counts of one workspace, or of all, those that are only on the disk among them."""
        if name is not None:
            return [self.of(name).counts()]
        at_hand = [self.of(each).counts() for each in self.names()]
        known = {path_of(self._folder, each["workspace"]) for each in at_hand} if self._folder else set()
        return [*at_hand, *(found for path in self._files() if path not in known for found in _read(path))]

    def forget(self, name: str, document: str | None = None) -> int:
        """Forget a document, or with None the workspace, on the disk too; how many documents that were.

        Raises OSError where the disk cannot forget: it is then forgotten in memory only.
        """
        workspace = self.of(name)
        kept = self._known[name]
        if kept.file is None:
            return workspace.forget(document)
        with kept.saving, kept.file.locked():
            self._take_in(kept, kept.file)
            count = workspace.forget(document)
            kept.file.drop_aside()
            self._write(kept, kept.file)
        return count

    def flush(self) -> None:
        """Have everything on the disk, and take in what other processes put there. Logs what fails."""
        with self._lock:
            known = list(self._known.values())
        for kept in known:
            file = kept.file
            if file is None or (kept.stamp == file.stamp() and not self._dirty(kept)):
                continue
            try:
                with kept.saving, file.locked():
                    self._take_in(kept, file)
                    if self._dirty(kept):
                        self._write(kept, file)
                        self._remove_oldest(file)
            except OSError as error:
                _logger.warning("What was learned could not be kept in %s: %s", file.path, error.strerror)

    def _dirty(self, kept: _Kept) -> bool:
        return kept.revision != kept.workspace.revision or bool(kept.workspace.unsaved)

    def _take_in(self, kept: _Kept, file: WorkspaceFile) -> None:
        """Merge what the file has, unless it is known; one that cannot be used is set aside."""
        stamp = file.stamp()
        if stamp == kept.stamp:
            return
        try:
            stored = file.read()
        except UnusableError as error:
            file.set_aside()
            self.messages.append(
                f"What was learned of {kept.workspace.name} cannot be used: {error}. "
                f"It was set aside as {file.path.with_suffix(ASIDE).name} and is learned again."
            )
            _logger.warning("%s cannot be used: %s; set aside", file.path, error)
            stored, stamp = None, None
        if stored is not None:
            more = kept.workspace.merge(stored.documents, stored.forgotten, stored.receptions)
            kept.revision = -1 if more else kept.workspace.revision
        kept.stamp = stamp

    def _write(self, kept: _Kept, file: WorkspaceFile) -> None:
        workspace = kept.workspace
        with workspace.lock:
            documents, revision = workspace.snapshot(), workspace.revision
            receptions, forgotten = dict(workspace.receptions), dict(workspace.forgotten)
            unsaved, workspace.unsaved = workspace.unsaved, {}
        name = workspace.name if documents or receptions else ""
        try:
            file.write(Stored(name, documents, forgotten, receptions))
        except OSError:
            with workspace.lock:
                add_counts(workspace.unsaved, unsaved)
            raise
        kept.revision, kept.stamp = revision, file.stamp()

    def _files(self) -> list[Path]:
        """All files, those written last at the end."""
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(self._folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)

    def _remove_oldest(self, present: WorkspaceFile) -> None:
        files = self._files()
        total = sum(path.stat().st_size for path in files)
        for path in files:
            if total <= MAX_STORE:
                return
            if path != present.path:
                total -= path.stat().st_size
                path.unlink()


def _read(path: Path) -> list[dict[str, Any]]:
    """The counts of the workspace in a file, if it can be used and holds any."""
    try:
        stored = WorkspaceFile(path).read()
    except UnusableError:
        return []  # told when the workspace is used
    if stored is None or not stored.name:
        return []
    workspace = Workspace(stored.name)
    workspace.merge(stored.documents, stored.forgotten, stored.receptions)
    return [workspace.counts()]
