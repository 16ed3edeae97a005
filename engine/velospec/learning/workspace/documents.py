"""The documents of one workspace as they were told: by whole texts and by changes, bounded in size.

A document is never changed but replaced, so that another thread may go on reading what it took. All that is
mined from a workspace is made of these texts and can be traced to one of them; nothing here knows tokens.
"""

from __future__ import annotations

import hashlib
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from velospec.core.learning import Feedback, Lesson, Reception, TextChange

MAX_DOCUMENT = 1 << 20
"""Characters of a document; one that is longer is not learned: generated code teaches little."""
MAX_TEXT = 6 << 20
"""Characters of all documents of a workspace together."""
MAX_DOCUMENTS = 20_000
ALL = "*"
_MOST_FORGOTTEN = 10_000
_LEVEL = 6  # of compression
_LEAST_JUDGED = 20  # completions


class Document:
    """One state of a document; its text is unpacked when it is asked for."""

    __slots__ = ("_packed", "_text", "learned", "name", "path", "relevance", "size", "version")

    def __init__(  # noqa: PLR0913  (all but the first two by name)
        self,
        name: str,
        text: str | bytes,
        *,
        path: str = "",
        version: int = 0,
        relevance: int = 0,
        learned: float = 0.0,
        size: int | None = None,
    ) -> None:
        """`text` may be packed: what `packed` gives; `size` are then its characters."""
        self.name, self.path, self.version, self.relevance = name, path, version, relevance
        self.learned = learned  # seconds since 1970
        self._text: str | None = text if isinstance(text, str) else None
        self._packed: bytes | None = None if isinstance(text, str) else text
        self.size = len(text) if size is None else size

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = zlib.decompress(self._packed or b"").decode()
        return self._text

    @property
    def packed(self) -> bytes:
        """The text in UTF-8, compressed; lone surrogates become `?`."""
        if self._packed is None:
            self._packed = zlib.compress(self.text.encode("utf-8", "replace"), _LEVEL)
        return self._packed

    def digest(self) -> str:
        """Names the text."""
        return digest(self.text)


def digest(text: str) -> str:
    """Names a text: the first 32 hexadecimal digits of the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(slots=True)
class Workspace:
    """One workspace's documents and what the user made of completions there. Any thread may use it.

    `revision` grows with each change of the documents. `forgotten` has the digests of names that were
    forgotten, with the time, so that another process that still knows them learns of it; that of ALL stands
    for all names.
    """

    name: str
    max_text: int = MAX_TEXT
    revision: int = 0
    documents: dict[str, Document] = field(default_factory=dict)
    forgotten: dict[str, float] = field(default_factory=dict)
    receptions: dict[str, int] = field(default_factory=dict)  # by Reception, and `offered`, `kept` characters
    unsaved: dict[str, int] = field(default_factory=dict)  # what of these no file has
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    characters: int = 0
    _told: float = 0.0

    def learn(self, lesson: Lesson) -> bool:
        """Take over a document's state; False where the version that it builds on is not known.

        A state that is older than the one known is passed over, and so is a document that is too long.
        """
        with self.lock:
            known = self.documents.get(lesson.document)
            if lesson.text is not None:
                text = lesson.text
            elif known is not None and known.version == lesson.base:
                changed = apply(known.text, lesson.changes)
                if changed is None:
                    return False
                text = changed
            else:
                return False
            path = lesson.path or (known.path if known else "")
            if len(text) > MAX_DOCUMENT:
                self.forget(lesson.document)
                return True
            self.put(
                Document(
                    lesson.document,
                    text,
                    path=path,
                    version=lesson.version,
                    relevance=lesson.relevance,
                    learned=self._now(),
                )
            )
            return True

    def put(self, document: Document) -> None:
        """Have this state of a document, then drop the least relevant documents where that is too much."""
        with self.lock:
            known = self.documents.pop(document.name, None)
            self.characters += document.size - (known.size if known else 0)
            self.documents[document.name] = document
            self.forgotten.pop(digest(document.name), None)
            self.revision += 1
            if self.characters > self.max_text or len(self.documents) > MAX_DOCUMENTS:
                self._evict()

    def rename(self, document: str, new: str, path: str) -> bool:
        """Go on under another name; whether the document was known."""
        with self.lock:
            known = self.documents.get(document)
            if known is None:
                return False
            self.forget(document)
            self.put(
                Document(
                    new,
                    known.packed,
                    path=path,
                    version=known.version,
                    relevance=known.relevance,
                    learned=self._now(),
                    size=known.size,
                )
            )
            return True

    def forget(self, document: str | None = None) -> int:
        """Forget a document, or, with None, all of them and the user's judgements; how many they were."""
        with self.lock:
            names = list(self.documents) if document is None else [document]
            known = [found for name in names if (found := self.documents.pop(name, None)) is not None]
            self.characters -= sum(each.size for each in known)
            if document is None:
                self.receptions.clear()
                self.unsaved.clear()
                self.forgotten.clear()
            self.forgotten[ALL if document is None else digest(document)] = self._now()
            while len(self.forgotten) > _MOST_FORGOTTEN:
                del self.forgotten[min(self.forgotten, key=self.forgotten.__getitem__)]
            self.revision += 1
            return len(known)

    def merge(
        self, documents: Iterable[Document], forgotten: Mapping[str, float], receptions: Mapping[str, int]
    ) -> bool:
        """Take in what another process has kept; whether there is anything here that it had not.

        Of two states of a document, that learned last counts; a document that was learned before it was
        forgotten anywhere is forgotten here too.
        """
        theirs = {each.name: each for each in documents}
        with self.lock:
            for key, when in forgotten.items():
                self.forgotten[key] = max(when, self.forgotten.get(key, 0.0))
            for each in [each for each in self.documents.values() if self._is_forgotten(each)]:
                self._drop(each)
            for each in theirs.values():
                mine = self.documents.get(each.name)
                if not self._is_forgotten(each) and (mine is None or mine.learned < each.learned):
                    self.put(each)
            self.receptions = dict(receptions)
            add_counts(self.receptions, self.unsaved)
            mine_at = {each.name: each.learned for each in self.documents.values()}
            their_at = {each.name: each.learned for each in theirs.values()}
            return bool(self.unsaved) or mine_at != their_at or self.forgotten != dict(forgotten)

    def judge(self, feedback: Feedback) -> None:
        """Count what the user made of a completion."""
        counts = {str(feedback.reception): 1, "offered": feedback.offered, "kept": feedback.kept}
        with self.lock:
            add_counts(self.receptions, counts)
            add_counts(self.unsaved, counts)

    def taken(self) -> float | None:
        """The share of what completions offered that the user took and kept; None while little was judged."""
        with self.lock:
            judged = sum(self.receptions.get(kind, 0) for kind in Reception)
            offered, kept = self.receptions.get("offered", 0), self.receptions.get("kept", 0)
        return kept / offered if judged >= _LEAST_JUDGED and offered else None

    def known(self) -> dict[str, str]:
        """The digest of each document's text."""
        return {each.name: each.digest() for each in self.snapshot()}

    def snapshot(self) -> list[Document]:
        """All documents, those learned last at the end."""
        with self.lock:
            return list(self.documents.values())

    def counts(self) -> dict[str, Any]:
        """For a status display: JSON-ready."""
        documents = self.snapshot()
        with self.lock:
            receptions = dict(self.receptions)
        return {
            "workspace": self.name,
            "documents": len(documents),
            "lines": sum(each.text.count("\n") for each in documents),
            "characters": self.characters,
            "receptions": {str(kind): receptions.get(kind, 0) for kind in Reception},
            "offered_characters": receptions.get("offered", 0),
            "kept_characters": receptions.get("kept", 0),
        }

    def export(self) -> dict[str, Any]:
        """All that is kept, JSON-ready."""
        documents = [
            {
                "document": each.name,
                "path": each.path,
                "version": each.version,
                "relevance": each.relevance,
                "learned": each.learned,
                "text": each.text,
            }
            for each in self.snapshot()
        ]
        return {**self.counts(), "documents": documents}

    def _evict(self) -> None:
        """Drop the least relevant documents, of equals those not learned for longest."""
        order = sorted(self.documents.values(), key=lambda each: (each.relevance, each.learned))
        for each in order[:-1]:
            if self.characters <= self.max_text and len(self.documents) <= MAX_DOCUMENTS:
                return
            self._drop(each)

    def _drop(self, document: Document) -> None:
        del self.documents[document.name]
        self.characters -= document.size
        self.revision += 1

    def _is_forgotten(self, document: Document) -> bool:
        """Whether it was forgotten after this state was learned."""
        when = max(self.forgotten.get(ALL, 0.0), self.forgotten.get(digest(document.name), 0.0))
        return when >= document.learned

    def _now(self) -> float:
        """The time, later than each time told before."""
        self._told = max(time.time(), self._told + 1e-6)
        return self._told


def add_counts(counts: dict[str, int], more: Mapping[str, int]) -> None:
    """Add each of `more` to `counts`."""
    for key, count in more.items():
        counts[key] = counts.get(key, 0) + count


def apply(text: str, changes: Iterable[TextChange]) -> str | None:
    """`text` with the changes made, one after the other; None where one of them lies outside of it."""
    for change in changes:
        if change.end > len(text):
            return None
        text = text[: change.start] + change.text + text[change.end :]
    return text
