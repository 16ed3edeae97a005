"""What an editor tells the engine about a workspace, so that it drafts from it. Text alone, no token ids."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from velospec.core.checks import require, require_all, require_number

MOST_RELEVANT = 9
"""The relevance of a document that is open in the editor."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """The code points from `start` to before `end` become `text`.

    Offsets count in the text as the changes before this one, of the same lesson, have left it.
    """

    start: int
    end: int
    text: str

    def __post_init__(self) -> None:
        require_number("TextChange.start", self.start, 0, math.inf, "Give an offset.", whole=True)
        require_number("TextChange.end", self.end, self.start, math.inf, "Give an offset.", whole=True)
        require("TextChange.text", self.text, str, "Give it as text, empty to delete.")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One state of one document: its whole `text`, or the `changes` that made it of the version `base`.

    LF line ends only. What may be learned is decided before: a lesson has passed the privacy gate.

    Raises:
        SettingsError: a value is of the wrong type or out of its range, or there is neither a text nor a
            base.
    """

    workspace: str  # the folder, as in requests; nothing learned there is used elsewhere
    document: str  # as in requests: the document's URI; unique in the workspace
    version: int  # the editor's number of this state; a later state of an open document has a larger one
    text: str | None = None
    base: int | None = None
    changes: tuple[TextChange, ...] = ()
    path: str = ""  # within the workspace; tells the language, is shown to the user
    relevance: int = 0  # 0 to MOST_RELEVANT; where there is too much, the least relevant is dropped first

    def __post_init__(self) -> None:
        require("Lesson.workspace", self.workspace, str, "Name the workspace's folder.")
        require("Lesson.document", self.document, str, "Name the document by its URI.")
        require("Lesson.path", self.path, str, "Give the path within the workspace, or leave it out.")
        require_number("Lesson.version", self.version, -math.inf, math.inf, "Give a number.", whole=True)
        require_number("Lesson.relevance", self.relevance, 0, MOST_RELEVANT, "See Lesson.", whole=True)
        require_all("Lesson.changes", self.changes, TextChange, "Give changes=(TextChange(…), …).")
        if self.text is None:
            require("Lesson.base", self.base, int, "Give the text, or the version that was changed.")
        else:
            require("Lesson.text", self.text, str, "Give the whole text, or base and changes.")


class Reception(StrEnum):
    """What the user made of a completion."""

    ACCEPTED = "accepted"
    PARTLY = "partly"
    REJECTED = "rejected"
    DELETED = "deleted"  # accepted, and deleted or rewritten soon after


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of a completion that was shown. Counts, no text.

    Raises:
        SettingsError: a value is of the wrong type or out of its range.
    """

    workspace: str
    reception: Reception
    offered: int = 0  # characters shown
    kept: int = 0  # of these, how many the user took (and, where DELETED, still has)
    document: str = ""

    def __post_init__(self) -> None:
        require("Feedback.workspace", self.workspace, str, "Name the workspace's folder.")
        require("Feedback.document", self.document, str, "Name the document by its URI.")
        require("Feedback.reception", self.reception, Reception, "Use a Reception.")
        require_number("Feedback.offered", self.offered, 0, math.inf, "Count characters.", whole=True)
        require_number("Feedback.kept", self.kept, 0, self.offered, "Count characters.", whole=True)
