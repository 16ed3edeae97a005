"""Looks through the files of workspaces in idle time, so that what is known of them is as they are.

A workspace is looked through when its first document is open, and again when that is asked for: where the
client tells of changed files, after ignore files, settings or the branch have changed, else once a minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from velospec.core.errors import VeloSpecError
from velospec_lsp.learning.desk import Desk
from velospec_lsp.learning.teacher import Teacher
from velospec_lsp.learning.walk import (
    Found,
    Surroundings,
    allows,
    exists,
    find_files,
    look_at,
    read,
    stamp_of,
)
from velospec_lsp.privacy import PrivacyGate, uri_path

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done when, in seconds."""

    poll: float = 60.0  # between two looks at files that nobody tells of
    quiet: float = 0.5  # that the user must have done nothing
    longest: float = 5.0  # that a user who never rests is waited for
    pause: float = 0.02  # between two handfuls of files
    most: float = 30.0  # of work on one workspace at a time; the rest follows with the next look


_HANDFUL = 8  # files that are read and taught at a time
_LOOKED_AT = 32  # known files that are looked at for whether they are still there, and allowed


class Survey:
    """Keeps what the daemon knows of the files of workspaces as the files are."""

    def __init__(
        self,
        teacher: Teacher,
        desk: Desk,
        surroundings: Callable[[str], Surroundings],
        drop: Callable[[str, str], Awaitable[None]],
    ) -> None:
        """`surroundings` tells what is open in a workspace, `drop` has a document of one forgotten."""
        self.watched = False  # whether the client tells of files that change
        self._teacher = teacher
        self._desk = desk
        self._surroundings = surroundings
        self._drop = drop
        self.pace = Pace()
        self._heads: dict[str, object] = {}  # the workspaces in use, with the state of their branch
        self._left: set[str] = set()
        self._waiting: set[str] = set()
        self._busy_at = 0.0
        self._runner: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    def wait(self) -> None:
        """The user is at work: do nothing for a moment."""
        self._busy_at = time.monotonic()

    def want(self, workspace: str, *, anew: bool = False) -> None:
        """Look through a workspace, if that was not done before, or `anew`."""
        if workspace in self._left or (workspace in self._heads and not anew):
            return
        self._heads.setdefault(workspace, None)
        self._waiting.add(workspace)
        self._news.set()
        if self._runner is None or self._runner.done():
            self._runner = asyncio.get_running_loop().create_task(self._run())

    def leave(self, workspace: str) -> None:
        """Look through that workspace no more."""
        self._left.add(workspace)
        self._heads.pop(workspace, None)
        self._waiting.discard(workspace)

    async def close(self) -> None:
        """Stop."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)

    async def look(self, workspace: str, uri: str) -> None:
        """Take one file as it is on the disk now. Raises VeloSpecError."""
        path = uri_path(uri) or ""
        known = uri in await self._teacher.documents(workspace)
        found = await asyncio.to_thread(look_at, path, workspace, self._desk.gate(), known=known)
        if found is not None:
            await self._teach(workspace, [found])
        elif known:
            await self._drop(workspace, uri)

    async def _run(self) -> None:
        while True:
            self._news.clear()
            while self._waiting and self._desk.settled():
                workspace = self._waiting.pop()
                try:
                    await self._look_through(workspace)
                except VeloSpecError as error:
                    logger.info("the daemon did not learn files: %s", type(error).__name__)
            try:
                await asyncio.wait_for(self._news.wait(), self.pace.poll)
            except TimeoutError:
                await self._poll()

    async def _poll(self) -> None:
        for workspace, before in list(self._heads.items()):
            head = await asyncio.to_thread(_head, workspace)
            self._heads[workspace] = head
            if not self.watched or (before is not None and head != before):
                self._waiting.add(workspace)

    async def _look_through(self, workspace: str) -> None:
        until = time.monotonic() + self.pace.most
        if not self._desk.serves(workspace):
            self._heads.pop(workspace, None)
            return
        if self._heads.get(workspace) is None:
            self._heads[workspace] = await asyncio.to_thread(_head, workspace)
        await self._drop_gone(workspace)
        if not self._desk.learns():
            return
        around = self._surroundings(workspace)
        files = await asyncio.to_thread(find_files, workspace, self._desk.gate(), around)
        new = [found for found in files if not self._teacher.saw(workspace, found)]
        taught = 0
        for start in range(0, len(new), _HANDFUL):
            await self._rest()
            if time.monotonic() > until or workspace in self._left:
                break
            taught += await self._teach(workspace, new[start : start + _HANDFUL])
        logger.info("looked through %d files, of which %d were new to the daemon", len(files), taught)

    async def _drop_gone(self, workspace: str) -> None:
        """Have forgotten what is no longer there, or excluded by now."""
        names = await self._teacher.documents(workspace)
        for start in range(0, len(names), _LOOKED_AT):
            some = names[start : start + _LOOKED_AT]
            opened = self._surroundings(workspace).paths
            gone = await asyncio.to_thread(_gone, some, self._desk.gate(), opened)
            for name in some:
                if name in gone or self._desk.folder_of(name) != workspace:
                    await self._drop(workspace, name)
            await asyncio.sleep(self.pace.pause)

    async def _teach(self, workspace: str, files: list[Found]) -> int:
        gate, taught = self._desk.gate(), 0
        texts = await asyncio.to_thread(lambda: [read(found, gate) for found in files])
        for found, text in zip(files, texts, strict=True):
            opened = self._surroundings(workspace).paths  # by now: what is open counts as it is there
            current = gate is self._desk.gate() or allows(self._desk.gate(), found.path, found.stamp)
            wanted = self._desk.learns() and workspace not in self._left
            here = found.path not in opened and self._desk.folder_of(found.uri) == workspace
            if text is not None and current and wanted and here:
                taught += await self._teacher.teach_file(workspace, found, text)
        return taught

    async def _rest(self) -> None:
        """Until the user has done nothing for a moment, though not for ever."""
        await asyncio.sleep(self.pace.pause)
        until = time.monotonic() + self.pace.longest
        while (now := time.monotonic()) < min(until, self._busy_at + self.pace.quiet):  # noqa: ASYNC110 - see below
            # How long it takes is known only once it has passed: a key may come meanwhile.
            await asyncio.sleep(min(until, self._busy_at + self.pace.quiet) - now)


def _gone(names: list[str], gate: PrivacyGate, opened: frozenset[str]) -> list[str]:
    """Which of the documents are excluded, or no longer there though not open."""
    gone = []
    for name in names:
        path = uri_path(name)
        stamp = stamp_of(path) if path else None
        allowed = path is not None and gate.rule(name, stamp[1] if stamp else 0).allowed
        if path is None or not allowed or (path not in opened and not exists(path)):
            gone.append(name)
    return gone


def _head(workspace: str) -> object:
    """What is checked out: the content of HEAD."""
    for folder in (Path(workspace), *Path(workspace).parents):
        git = folder / ".git"
        try:
            if git.is_file():  # a worktree or a submodule: it names the folder
                git = folder / git.read_text("utf-8").removeprefix("gitdir:").strip()
            if git.is_dir():
                return (git / "HEAD").read_text("utf-8")
        except (OSError, ValueError):
            return None
    return None
