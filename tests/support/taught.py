"""The daemon's side of learning without a daemon: a real library of workspaces, in memory or in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from velospec.core.errors import DaemonError
from velospec.core.learning import Feedback, Lesson
from velospec.daemon import learning_frames as f
from velospec.daemon import protocol as p
from velospec.daemon.teaching import Teaching
from velospec.learning.workspace.library import Workspaces


class Taught(Teaching):
    """Does at once what it is asked; `lessons` and `feedback` are what came, in order."""

    def __init__(self, folder: Path | None = None) -> None:
        self.spaces = Workspaces(folder)
        self.lessons: list[Lesson] = []
        self.feedback: list[Feedback] = []
        self.away = False  # whether there is no daemon

    def texts(self, workspace: str) -> dict[str, str]:
        """The texts that are known, by path."""
        return {each.path: each.text for each in self.spaces.of(workspace).snapshot()}

    async def _ask(self, frame: p.Request) -> Any:
        if self.away:
            raise DaemonError("The daemon is not running.")
        match frame:
            case f.Learn():
                self.lessons.append(frame.lesson)
                return self.spaces.of(frame.lesson.workspace).learn(frame.lesson)
            case f.Rename():
                return self.spaces.of(frame.workspace).rename(frame.document, frame.new, frame.path)
            case f.Forget():
                return self.spaces.forget(frame.workspace, frame.document)
            case f.Known():
                return self.spaces.of(frame.workspace).known()
            case f.Judge():
                self.feedback.append(frame.feedback)
        return None
