"""What one engine has read of the workspaces: their documents in its own ids, and the shapes of their code.

Reads in slices of a few milliseconds, in the pauses between requests: first what was forgotten leaves, then
documents are read block by block, the most relevant first. Of a document that was read before, only the
blocks that an edit made new are read again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from velospec.learning.workspace.blocks import resplit
from velospec.learning.workspace.chains import MAX_IDS, ChainIndex, Span
from velospec.learning.workspace.documents import Document, Workspace
from velospec.learning.workspace.library import Workspaces

SLICE = 0.004
"""Seconds of reading at a time; a block that was begun is finished."""
MOST_WORKSPACES = 3
"""Held read, those last used; another one is read again when it is used."""

_LEAST_ROOM = 1 << 16  # ids
_IDS_PER_CHARACTER = 0.4


class Shapes(Protocol):
    """What learns the shapes of code: `proposers.motif.MotifProposer`, a memory for each workspace."""

    def new_memory(self) -> Any: ...

    def learn_block(self, memory: Any, text: str, language: str) -> bool:
        """Add a block to `memory`; False where there is no more room."""
        ...

    def unlearn_block(self, memory: Any, text: str, language: str) -> None: ...


@dataclass(slots=True)
class _Read:
    """What was read of a document: `blocks` and `spans` belong to each other."""

    number: int
    source: Document | None = None
    language: str = ""
    blocks: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    shapes: set[str] = field(default_factory=set)  # the blocks that the memory of shapes has


class WorkspaceReading:
    """What was read of one workspace."""

    def __init__(self, workspace: Workspace, reader: Reader) -> None:
        self.workspace = workspace
        self.memory = reader.shapes.new_memory()
        self.index = ChainIndex(_LEAST_ROOM + int(_IDS_PER_CHARACTER * workspace.characters))
        self.characters_read = 0
        self._reader = reader
        self._documents: dict[str, _Read] = {}
        self._numbers = iter(range(1, 1 << 31))
        self._revision = self._left_at = -1
        self._work: Iterator[None] | None = None

    def number(self, document: str) -> int:
        """The owner of a document's blocks in `index`; -1 where there is none."""
        known = self._documents.get(document)
        return known.number if known is not None else -1

    def step(self) -> bool:
        """Read a block or so; False where everything is read."""
        if self._revision != self.workspace.revision:
            self._revision = self.workspace.revision
            self._work = self._read_all()
        if self._work is not None and next(self._work, self) is self:
            self._work = None
        return self._work is not None

    def leave_forgotten(self) -> None:
        """Take out at once what the workspace no longer has."""
        if self._left_at == self.workspace.revision:
            return
        with self.workspace.lock:
            self._left_at = self.workspace.revision
            gone = self._documents.keys() - self.workspace.documents.keys()
        if any(self._documents[name].shapes for name in gone):
            # What others share with it must stay, and no trace of it: so begin anew.
            self.memory = self._reader.shapes.new_memory()
            for each in self._documents.values():
                each.shapes = set()
        for name in gone:
            for span in self._documents.pop(name).spans:
                self.index.drop(span)  # a request may wait for this

    def _read_all(self) -> Iterator[None]:
        self.leave_forgotten()
        documents = self.workspace.snapshot()
        documents.sort(key=lambda each: (-each.relevance, -each.learned))
        for document in documents:
            known = self._documents.get(document.name)
            if known is None or known.source is not document:
                yield from self._read(document)
        if self.index.crowded:
            yield from self._make_anew()
        for document in documents:
            if document.name in self._documents:
                yield from self._read_shapes(self._documents[document.name])

    def _read(self, document: Document) -> Iterator[None]:
        known = self._documents.setdefault(document.name, _Read(next(self._numbers)))
        blocks = resplit(document.text, known.blocks)
        before, behind = _common(known.blocks, blocks)
        known.language = self._reader.detect(document.path, document.text)
        spare: dict[str, Sequence[int]] = {}
        for place in reversed(range(before, len(known.blocks) - behind)):
            block, span = known.blocks.pop(place), known.spans.pop(place)
            spare[block] = self.index.ids[span.start : span.end].tolist()
            self.index.remove(span)
            yield
        for place in range(before, len(blocks) - behind):
            block = blocks[place]
            ids = spare.get(block)
            if ids is None:
                ids = self._encode(block)
            if self.index.live + len(ids) > MAX_IDS:
                return
            known.spans.insert(place, self.index.add(ids, known.number))
            known.blocks.insert(place, block)
            yield
        known.source = document

    def _encode(self, block: str) -> Sequence[int]:
        self.characters_read += len(block)
        return self._reader.encode(block)

    def _read_shapes(self, known: _Read) -> Iterator[None]:
        shapes = self._reader.shapes
        for block in known.shapes.difference(known.blocks):
            shapes.unlearn_block(self.memory, block, known.language)
            known.shapes.discard(block)
            yield
        for block in known.blocks:
            if block not in known.shapes:
                if not shapes.learn_block(self.memory, block, known.language):
                    return
                known.shapes.add(block)
                yield

    def _make_anew(self) -> Iterator[None]:
        """Put all blocks into another index, without what was lost."""
        index = ChainIndex(_LEAST_ROOM + 2 * self.index.live)
        moved: list[tuple[_Read, list[Span]]] = []
        for known in list(self._documents.values()):
            spans = []
            for span in known.spans:
                spans.append(index.add(self.index.ids[span.start : span.end].tolist(), known.number))
                yield
            moved.append((known, spans))
        self.index = index
        for known, spans in moved:
            known.spans = spans


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads text: into ids, into a language's name, into shapes."""

    encode: Callable[[str], Sequence[int]]
    detect: Callable[[str, str], str]
    shapes: Shapes


class Reading:
    """What one engine has read of all workspaces."""

    def __init__(self, reader: Reader, workspaces: Workspaces) -> None:
        self._reader = reader
        self._workspaces = workspaces
        self._read: OrderedDict[str, WorkspaceReading] = OrderedDict()

    def study(self, seconds: float = SLICE) -> bool:
        """Read for so long; whether there is more."""
        until = time.perf_counter() + seconds
        for name in [name for name in self._read if not self._workspaces.of(name).documents]:
            del self._read[name]  # all of it was forgotten
        for name in self._order():
            reading = self._of(name)
            while reading.step():
                if time.perf_counter() >= until:
                    return True
        return False

    def warm(self, seconds: float) -> None:
        """Read the workspace used last for so long, so that a first request finds what the last one had."""
        until = time.perf_counter() + seconds
        name = self._workspaces.recent()
        while name is not None and time.perf_counter() < until and self._of(name).step():
            pass

    def enter(self, name: str) -> WorkspaceReading | None:
        """A request of that workspace is next: what was read of it, without what was forgotten since."""
        if not self._workspaces.of(name).documents:
            self._read.pop(name, None)
            return None
        reading = self._of(name)
        self._read.move_to_end(name)
        reading.leave_forgotten()
        return reading

    def _order(self) -> list[str]:
        """The workspaces to be read: those last used first, then others while there is room."""
        names = self._workspaces.names()
        others = [name for name in reversed(names) if name not in self._read]
        known = [name for name in reversed(self._read) if name in names]
        return known + others[: max(MOST_WORKSPACES - len(known), 0)]

    def _of(self, name: str) -> WorkspaceReading:
        reading = self._read.get(name)
        if reading is None:
            reading = self._read[name] = WorkspaceReading(self._workspaces.of(name), self._reader)
            if len(self._read) > MOST_WORKSPACES:
                self._read.popitem(last=False)
        return reading


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many blocks both begin with, and how many of the others they end with."""
    most = min(len(old), len(new))
    before = next((i for i in range(most) if old[i] != new[i]), most)
    behind = next((i for i in range(most - before) if old[-1 - i] != new[-1 - i]), most - before)
    return before, behind
