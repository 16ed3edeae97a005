"""The documents of one workspace as they were told: by whole texts and by changes, bounded in size.

A document is never changed but replaced, so that another thread may go on reading what it took. All that is
mined from a workspace is made of these texts and can be traced to one of them; nothing here knows tokens.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from velospec.core.learning import Feedback, Lesson, Reception, TextChange

MAX_DOCUMENT = 1 << 20
"""Characters of a document; one that is longer is not learned: generated code teaches little."""
MAX_TEXT = 16 << 20
"""Characters of all documents of a workspace together."""
MAX_DOCUMENTS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One state of a document."""

    name: str
    path: str
    version: int
    text: str
    relevance: int
    learned: float  # seconds since 1970

    def digest(self) -> str:
        return digest(self.text)


def digest(text: str) -> str:
    """Names a text: the first 32 hexadecimal digits of the SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(slots=True)
class Workspace:
    """One workspace's documents and what the user made of completions there. Any thread may use it.

    `revision` grows with each change of the documents. `forgotten` has the digests of names that were
    forgotten, with the time, so that another process that still knows them learns of it.
    """

    name: str
    max_text: int = MAX_TEXT
    revision: int = 0
    documents: dict[str, Document] = field(default_factory=dict)
    forgotten: dict[str, float] = field(default_factory=dict)
    receptions: dict[str, int] = field(default_factory=dict)  # by Reception, and `offered`, `kept` characters
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    characters: int = 0

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
            self.put(Document(lesson.document, path, lesson.version, text, lesson.relevance, time.time()))
            return True

    def put(self, document: Document) -> None:
        """Have this state of a document, then drop the least relevant documents where that is too much."""
        with self.lock:
            known = self.documents.pop(document.name, None)
            self.characters += len(document.text) - (len(known.text) if known else 0)
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
            self.put(replace(known, name=new, path=path, learned=time.time()))
            return True

    def forget(self, document: str | None = None) -> int:
        """Forget a document, or, with None, all of them and the user's judgements; how many they were."""
        with self.lock:
            names = list(self.documents) if document is None else [document]
            now = time.time()
            known = [found for name in names if (found := self.documents.pop(name, None)) is not None]
            self.forgotten.update((digest(name), now) for name in names)
            self.characters -= sum(len(each.text) for each in known)
            if document is None:
                self.receptions.clear()
            self.revision += 1
            return len(known)

    def judge(self, feedback: Feedback) -> None:
        """Count what the user made of a completion."""
        with self.lock:
            for key, count in (
                (str(feedback.reception), 1),
                ("offered", feedback.offered),
                ("kept", feedback.kept),
            ):
                self.receptions[key] = self.receptions.get(key, 0) + count

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
            del self.documents[each.name]
            self.characters -= len(each.text)


def apply(text: str, changes: Iterable[TextChange]) -> str | None:
    """`text` with the changes made, one after the other; None where one of them lies outside of it."""
    for change in changes:
        if change.end > len(text):
            return None
        text = text[: change.start] + change.text + text[change.end :]
    return text


def merged_receptions(mine: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    """The sums of two counts of judgements."""
    return {key: mine.get(key, 0) + theirs.get(key, 0) for key in {*mine, *theirs}}
