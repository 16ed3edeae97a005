"""The frames by which an editor's server teaches the daemon workspaces and has it forget them.

They work without any model, and are answered at once: what has been learned is drafted from as soon as the
model had a pause to read it. Knows nothing of sockets or stores.
"""

from __future__ import annotations

from dataclasses import dataclass

from velospec.core.learning import Feedback, Lesson


@dataclass(frozen=True, slots=True)
class Learn:
    """Take note of a document's state. Answered with whether it is known now: not where its base was not."""

    id: int
    lesson: Lesson


@dataclass(frozen=True, slots=True)
class Rename:
    """A document has another name and path now; answered with whether it was known."""

    id: int
    workspace: str
    document: str
    new: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """Forget a document, or, with None, all of the workspace; answered when the disk has forgotten it too.

    The answer is how many documents that were.
    """

    id: int
    workspace: str
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """Ask which documents of a workspace are known: a map from each to the digest of its text."""

    id: int
    workspace: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Ask for the counts of a workspace, or, with None, of all: a list of maps."""

    id: int
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """Ask for all that is kept of a workspace, as plain data."""

    id: int
    workspace: str


@dataclass(frozen=True, slots=True)
class Judge:
    """Tell what the user made of a completion."""

    id: int
    feedback: Feedback


LearningRequest = Learn | Rename | Forget | Known | Knowledge | Export | Judge
