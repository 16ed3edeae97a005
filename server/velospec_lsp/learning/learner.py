"""Has the daemon learn the workspace: open documents as they are edited, and other files when there is time.

Lives in the event loop. What listeners hear of is noted down, and one task at a time deals with it in order,
so that the daemon takes in what is taught and what is to be forgotten as it happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from velospec.core.errors import VeloSpecError
from velospec.core.learning import Feedback, Reception
from velospec_lsp.completion.site import Query
from velospec_lsp.documents import Document
from velospec_lsp.events import Decision, Edit, Fate, Listener
from velospec_lsp.learning.desk import Desk
from velospec_lsp.learning.survey import Survey
from velospec_lsp.learning.teacher import Teacher, Told, file_name
from velospec_lsp.learning.walk import Surroundings, imported_names
from velospec_lsp.privacy import uri_path

if TYPE_CHECKING:
    from velospec.daemon.teaching import Teaching

logger = logging.getLogger(__name__)

TOLD_LATER = 1.0  # seconds that edits are gathered
_IMPORT_LINES = 200  # of an open document that are searched for imports
_RECEPTIONS = {
    Fate.ACCEPTED: Reception.ACCEPTED,
    Fate.TYPED: Reception.ACCEPTED,
    Fate.PARTLY: Reception.PARTLY,
    Fate.REJECTED: Reception.REJECTED,
    Fate.DELETED: Reception.DELETED,
}

Job = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Open:
    document: Document
    told: Told = field(default_factory=Told)
    due: bool = True


class Learner(Listener):
    """Watches the documents and files of one editor, and teaches the daemon."""

    def __init__(self, daemon: Callable[[], Teaching], desk: Desk) -> None:
        self._daemon = daemon
        self._desk = desk
        self.teacher = Teacher(daemon)
        self.survey = Survey(self.teacher, desk, self._surroundings, self._drop)
        self._open: dict[str, _Open] = {}
        self._jobs: deque[Job] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # What happens to documents.

    def opened(self, document: Document) -> None:
        self._open[document.uri] = _Open(document)
        self._tell_later()

    def edited(self, edit: Edit) -> None:
        self.survey.wait()
        entry = self._open.get(edit.after.uri)
        if entry is not None:
            entry.document, entry.due = edit.after, True
            self._tell_later()

    def asked(self, query: Query) -> None:  # noqa: ARG002 - whatever it is
        self.survey.wait()

    def saved(self, document: Document) -> None:
        if (uri_path(document.uri) or "").endswith("/.gitignore"):
            self.reconsider()

    def closed(self, document: Document) -> None:
        """From now on the file counts, which may differ."""
        self._open.pop(document.uri, None)
        workspace = self._workspace(document)
        if workspace and self._desk.settled():
            name = file_name(document.uri)
            if name != document.uri:
                self._do(lambda: self.teacher.rename(workspace, document.uri, name))
            self._do(lambda: self._look(workspace, name))

    def decided(self, decision: Decision) -> None:
        workspace = self._workspace(decision.document)
        reception = _RECEPTIONS.get(decision.fate)
        if reception is None or not workspace or not self._learns():
            return
        offered = len(decision.text)
        kept = max(0, min(decision.kept, offered))
        feedback = Feedback(workspace, reception, offered, kept, decision.document.uri)
        self._do(lambda: self._daemon().judge(feedback))

    # What happens to files.

    def changed(self, uris: list[str]) -> None:
        """Files were written, made or removed, or what stands in folders of these names."""
        if not self._desk.settled():
            return
        for uri in uris:
            path = uri_path(uri) or ""
            workspace = self._desk.folder_of(uri)
            if path.endswith(("/.gitignore", "/.git/info/exclude", "/.git/HEAD")):
                self.reconsider()
            elif workspace:
                self._look_later(workspace, uri)

    def _look_later(self, workspace: str, uri: str) -> None:
        self._do(lambda: self._look(workspace, file_name(uri)))

    def renamed(self, old: str, new: str) -> None:
        """A file, or a folder, has another name."""
        if self._desk.settled():
            self._do(lambda: self._rename(file_name(old), file_name(new)))

    def reconsider(self) -> None:
        """Settings, folders, ignore files or the branch have changed: forget and learn what that means."""
        if self._desk.settled():
            for entry in self._open.values():
                entry.due = True
            self._do(self._tell)
            for workspace in {self._workspace(entry.document) for entry in self._open.values()} - {""}:
                self.survey.want(workspace, anew=True)

    def begin_anew(self) -> None:
        """The daemon was started anew, and may have lost what came last."""
        self.teacher.begin_anew()
        for entry in self._open.values():
            entry.told = Told()
        self.reconsider()

    # What commands ask for.

    async def forget(self, workspace: str, uri: str | None = None) -> int:
        """Forget a document, or all of a workspace, on the disk too; how many documents that were.

        Files are then left alone while this server runs, and documents until they are edited.
        """
        if uri is None:
            self.survey.leave(workspace)
        count = 0
        names = await self.teacher.documents(workspace)
        if uri is None:
            count = await self.teacher.forget_all(workspace)
        else:
            for name in {name for name in names if name == uri or file_name(name) == file_name(uri)}:
                await self.teacher.forget(workspace, name)
                count += 1
        for name in names if uri is None else [uri]:
            self._desk.forgotten(name)
        for entry in self._open.values():
            if self._workspace(entry.document) == workspace and uri in (None, entry.document.uri):
                entry.told, entry.due = Told(), False
        return count

    async def close(self) -> None:
        """Stop learning."""
        if self._timer is not None:
            self._timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        await self.survey.close()

    # Dealing with it.

    def _learns(self) -> bool:
        return self._desk.settled() and self._desk.learns()

    def _workspace(self, document: Document) -> str:
        """The folder that a document's text is learned for; empty for cells and unsaved texts: for none."""
        return "" if document.notebook else self._desk.folder_of(document.uri)

    def _surroundings(self, workspace: str) -> Surroundings:
        here = [each.document for each in self._open.values() if self._workspace(each.document) == workspace]
        paths = frozenset(path for each in here if (path := uri_path(each.uri)))
        lines = (line for each in here for line in each.text.lines(0, _IMPORT_LINES))
        return Surroundings(paths, frozenset(imported_names(lines)))

    def _tell_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TOLD_LATER, self._tell_now)

    def _tell_now(self) -> None:
        self._timer = None
        if self._desk.settled():
            self._do(self._tell)

    def _do(self, job: Job) -> None:
        self._jobs.append(job)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        while self._jobs:
            job = self._jobs.popleft()
            try:
                await job()
            except VeloSpecError as error:  # what is due is tried again with the next edit, the rest is lost
                logger.info("the daemon did not learn: %s", type(error).__name__)

    async def _tell(self) -> None:
        for entry in [entry for entry in self._open.values() if entry.due]:
            document = entry.document
            workspace = self._workspace(document)
            if not self._allows(document):
                entry.told = Told()
                self._desk.forgotten(document.uri)
                if workspace:
                    await self._drop_known(workspace, document.uri)
            elif workspace and self._desk.learns():
                await self._teach(workspace, document, entry.told)
            if workspace:
                self.survey.want(workspace)
            entry.due = entry.document is not document

    async def _teach(self, workspace: str, document: Document, told: Told) -> None:
        name = file_name(document.uri)
        if name != document.uri:
            await self.teacher.rename(workspace, name, document.uri)
        await self.teacher.teach_open(workspace, document.uri, document.text, told)

    async def _drop_known(self, workspace: str, uri: str) -> None:
        for known in await self.teacher.documents(workspace):
            if known in (uri, file_name(uri)):
                await self.teacher.forget(workspace, known)

    def _allows(self, document: Document) -> bool:
        return self._desk.gate().rule(document.home, document.text.size).allowed

    async def _drop(self, workspace: str, uri: str) -> None:
        """Forget a document, here and in the daemon."""
        self._desk.forgotten(uri)
        await self.teacher.forget(workspace, uri)

    async def _look(self, workspace: str, name: str) -> None:
        """Take a file, or the files in a folder, as they are on the disk now."""
        below = name.rstrip("/") + "/"
        for uri in await self.teacher.documents(workspace):
            if uri.startswith(below) and uri not in self._open:
                await self.survey.look(workspace, uri)
        if not any(file_name(uri) == name for uri in self._open):
            await self.survey.look(workspace, name)

    async def _rename(self, old: str, new: str) -> None:
        workspace = self._desk.folder_of(old)
        if not workspace:
            return
        for uri in await self.teacher.documents(workspace):
            if uri != old and not uri.startswith(old.rstrip("/") + "/"):
                continue
            name = new + uri[len(old) :]
            self._desk.forgotten(uri)
            if self._desk.folder_of(name) == workspace and self._desk.gate().rule(name, 0).allowed:
                await self.teacher.rename(workspace, uri, name)
            else:
                await self.teacher.forget(workspace, uri)
