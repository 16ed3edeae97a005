"""Teaches the daemon texts, and remembers which it knows: of each workspace by name, and what of the disk.

What may be learned, others decide. All methods that ask the daemon raise VeloSpecError.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from velospec.core.learning import MOST_RELEVANT, Lesson, TextChange
from velospec.learning.workspace.documents import digest
from velospec_lsp.learning.delta import change_between
from velospec_lsp.learning.walk import Found, Stamp
from velospec_lsp.privacy import uri_path
from velospec_lsp.text import Text, to_lf

if TYPE_CHECKING:
    from velospec.daemon.teaching import Teaching


@dataclass(slots=True)
class Told:
    """The text of an open document that the daemon has as `version`; None where it needs the whole text."""

    text: Text | None = None
    version: int = 0


@dataclass(slots=True)
class _Known:
    """What the daemon knows of a workspace: digests as it told them, and the files as they were looked at."""

    digests: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)


class Teacher:
    """Speaks with the daemon for one server."""

    def __init__(self, daemon: Callable[[], Teaching]) -> None:
        self._daemon = daemon
        self._known: dict[str, _Known] = {}
        # Another editor may have the same document open in another state: no version of ours is one of its.
        self._versions = itertools.count(secrets.randbits(40) << 12)

    def begin_anew(self) -> None:
        """Ask the daemon again what it knows."""
        self._known.clear()

    async def documents(self, workspace: str) -> list[str]:
        """The documents that are known of a workspace; the daemon is asked once."""
        return list((await self._of(workspace)).digests)

    def saw(self, workspace: str, found: Found) -> bool:
        """Whether that state of a file was looked at before."""
        known = self._known.get(workspace)
        return known is not None and known.stamps.get(found.uri) == found.stamp

    async def teach_file(self, workspace: str, found: Found, text: str) -> bool:
        """Teach the text of a file that is not open; whether it was new to the daemon."""
        known = await self._of(workspace)
        uri, name = found.uri, digest(text)
        new = known.digests.get(uri) != name
        if new:
            lesson = Lesson(
                workspace,
                uri,
                next(self._versions),
                text,
                path=path_within(uri, workspace),
                relevance=found.relevance,
            )
            await self._daemon().learn(lesson)
        known.digests[uri], known.stamps[uri] = name, found.stamp
        return new

    async def teach_open(self, workspace: str, uri: str, text: Text, told: Told) -> None:
        """Teach what is new of an open document since `told`, which is brought up to date."""
        known = await self._of(workspace)
        before, base = told.text, told.version
        if before is not None:
            change = change_between(before, text)
            if change is None:
                return
            told.text, told.version = text, next(self._versions)
            if await self._learn_open(workspace, uri, told, base=base, changes=(change,)):
                known.digests[uri] = ""
                return
        told.text, told.version = text, next(self._versions)
        await self._learn_open(workspace, uri, told, text=to_lf(text.lines(0)))
        known.digests[uri] = ""  # not that of the file, which is looked at again once it is closed
        known.stamps.pop(uri, None)

    async def rename(self, workspace: str, uri: str, new: str) -> None:
        """Have a document that is known go on under another name."""
        known = await self._of(workspace)
        if uri in known.digests:
            await self._daemon().rename(workspace, uri, new, path_within(new, workspace))
            known.digests[new] = known.digests.pop(uri)
            known.stamps.pop(uri, None)

    async def forget(self, workspace: str, uri: str) -> None:
        """Have a document forgotten; when this returns, the disk has forgotten it too."""
        known = await self._of(workspace)
        await self._daemon().forget(workspace, uri)
        known.digests.pop(uri, None)
        known.stamps.pop(uri, None)

    async def forget_all(self, workspace: str) -> int:
        """Have all of a workspace forgotten; how many documents that were."""
        count = await self._daemon().forget(workspace)
        self._known.pop(workspace, None)
        return count

    async def _learn_open(
        self,
        workspace: str,
        uri: str,
        told: Told,
        *,
        text: str | None = None,
        base: int | None = None,
        changes: tuple[TextChange, ...] = (),
    ) -> bool:
        lesson = Lesson(
            workspace,
            uri,
            told.version,
            text,
            base,
            changes,
            path=path_within(uri, workspace),
            relevance=MOST_RELEVANT,
        )
        try:
            return await self._daemon().learn(lesson)
        except BaseException:
            told.text = None  # whether it was taken in is not known
            raise

    async def _of(self, workspace: str) -> _Known:
        known = self._known.get(workspace)
        if known is None:
            digests = await self._daemon().known(workspace)
            known = self._known.setdefault(workspace, _Known(digests))
        return known


def path_within(uri: str, workspace: str) -> str:
    """The path of a file's URI, as the workspace's users know it."""
    return (uri_path(uri) or "").removeprefix(workspace.rstrip("/") + "/")


def file_name(uri: str) -> str:
    """How we name a file that is not open: clients quote URIs in ways of their own."""
    path = uri_path(uri)
    return Path(path).as_uri() if path and Path(path).is_absolute() else uri
