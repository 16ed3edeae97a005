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
        if isinstance(frame, f.Forget | f.Knowledge | f.Export):
            task = asyncio.get_running_loop().create_task(self._wait_for_disk(frame, done))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        done(self._answer(frame), None)

    async def keep(self, interval: float, tell: Callable[[str], None]) -> None:
        """Every `interval` seconds have everything on the disk, and tell users what they should know."""
        while True:
            await asyncio.sleep(interval)
            await asyncio.to_thread(self._workspaces.flush)
            while self._workspaces.messages:
                tell(self._workspaces.messages.pop(0))

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
            case f.Judge():
                spaces.of(frame.feedback.workspace).judge(frame.feedback)
        return None

    async def _wait_for_disk(self, frame: f.Forget | f.Knowledge | f.Export, done: Done) -> None:
        try:
            answer = await asyncio.to_thread(self._from_disk, frame)
        except OSError as error:
            done(None, DaemonError(f"What was learned could not be removed: {error.strerror}.", _REMEDY))
            return
        if isinstance(frame, f.Forget):
            self._taught()
        done(answer, None)

    def _from_disk(self, frame: f.Forget | f.Knowledge | f.Export) -> Any:
        if isinstance(frame, f.Forget):
            return self._workspaces.forget(frame.workspace, frame.document)
        if isinstance(frame, f.Export):
            return self._workspaces.of(frame.workspace).export()
        return self._workspaces.counts(frame.workspace)


_REMEDY = "Free the disk or its permissions, and try again."
