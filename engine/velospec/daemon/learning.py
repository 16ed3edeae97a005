"""Answers the frames about workspaces: takes in what is taught, tells what is known, forgets.

Lives in the event loop's thread; what takes longer than a moment is done in another. Reading what was taught
into an engine's own terms is the engines' part, see `worker`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from velospec.core.errors import DaemonError, VeloSpecError
from velospec.daemon import learning_frames as f
from velospec.learning.workspace.library import Workspaces

Done = Callable[[Any, VeloSpecError | None], None]


class LearningDesk:
    """What sessions ask. `taught` is called after something new was taken in or forgotten."""

    def __init__(self, workspaces: Workspaces, taught: Callable[[], None]) -> None:
        self._workspaces = workspaces
        self._taught = taught
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, frame: f.LearningRequest, done: Done) -> None:
        """Do what `frame` asks, and call `done` once with the answer or an error."""
        if isinstance(frame, f.Forget):
            task = asyncio.get_running_loop().create_task(self._forget(frame, done))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        done(self._answer(frame), None)

    def _answer(self, frame: f.LearningRequest) -> Any:
        spaces = self._workspaces
        match frame:
            case f.Learn():
                known = spaces.of(frame.lesson.workspace).learn(frame.lesson)
                self._taught()
                return known
            case f.Rename():
                known = spaces.of(frame.workspace).rename(frame.document, frame.new, frame.path)
                self._taught()
                return known
            case f.Known():
                return spaces.of(frame.workspace).known()
            case f.Knowledge():
                names = spaces.names() if frame.workspace is None else [frame.workspace]
                return [spaces.of(name).counts() for name in names]
            case f.Export():
                return spaces.of(frame.workspace).export()
            case f.Judge():
                spaces.of(frame.feedback.workspace).judge(frame.feedback)
        return None

    async def _forget(self, frame: f.Forget, done: Done) -> None:
        """In a thread, since it waits for the disk."""
        try:
            count = await asyncio.to_thread(self._workspaces.forget, frame.workspace, frame.document)
        except OSError as error:
            done(None, DaemonError(f"What was learned could not be removed: {error.strerror}.", _REMEDY))
            return
        self._taught()
        done(count, None)


_REMEDY = "Free the disk or its permissions, and try again."
