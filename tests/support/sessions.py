"""Editing sessions: documents, what a user does to them and how fast, and what must come of it.

A session is a TOML file in tests/benchmarks/sessions. `title` says what it is about, `pace` how many
milliseconds lie between two keys, `asked` at how many places the model is to write. `[files.NAME]` has the
`text`, the text in the end (`final`), the `cursor` (line and character from 0), the `language`, and `crlf`
where lines end so. `[answers]` maps the end of the text before the cursor to what the model writes there.
`pairs` tells that the editor closes brackets by itself, `notebook` that the files are a notebook's cells, and
`editors` which of "wire" and "neovim" can do what the session does.

Each of `events` does one thing: `type` or `paste` a text, `delete` so many characters, `move` to a place,
`accept` "all", a "word" or a "line" of what is shown, `undo` the last insertion, `save`, `switch` to a file
and a place in it, `change` several places at once ([line, character, line, character, text] each, from the
top, as they were before), `wait` so many milliseconds. `shows` is what is then shown at the cursor, empty for
nothing.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.repository import ROOT

FOLDER = ROOT / "tests" / "benchmarks" / "sessions"
ACTIONS = frozenset(("type", "paste", "delete", "move", "accept", "undo", "save", "switch", "change", "wait"))


@dataclass(frozen=True)
class File:
    """One document. All texts are with LF; `crlf` is how they are in the editor."""

    text: str
    final: str
    language: str
    cursor: tuple[int, int] = (0, 0)
    crlf: bool = False


@dataclass(frozen=True)
class Event:
    """One thing that is done. `shows` is None where nothing is said of what is shown then."""

    action: str
    argument: Any
    shows: str | None = None


@dataclass(frozen=True)
class Session:
    """A session as its file has it; the first of `files` is the one that is open at the beginning."""

    name: str
    title: str
    pace: int
    asked: int
    files: dict[str, File]
    events: tuple[Event, ...]
    answers: dict[str, str] = field(default_factory=dict)
    pairs: bool = False
    notebook: bool = False
    editors: tuple[str, ...] = ("wire", "neovim")


def load(path: Path) -> Session:
    """The session in `path`. Raises TypeError or ValueError for what no session has."""
    data = tomllib.loads(path.read_text("utf-8"))
    files = {name: _file(given) for name, given in data.pop("files").items()}
    events = tuple(_event(given) for given in data.pop("events"))
    editors = tuple(data.pop("editors", ("wire", "neovim")))
    return Session(path.stem, files=files, events=events, editors=editors, **data)


def sessions(editor: str) -> list[Session]:
    """Those that `editor` can do, by name."""
    return [session for path in sorted(FOLDER.glob("*.toml")) if editor in (session := load(path)).editors]


def _file(given: dict[str, Any]) -> File:
    line, character = given.pop("cursor", (0, 0))
    return File(cursor=(line, character), **given)


def _event(given: dict[str, Any]) -> Event:
    shows = given.pop("shows", None)
    ((action, argument),) = given.items()
    if action not in ACTIONS:
        raise ValueError(f"no session has the action {action!r}")
    return Event(action, argument, shows)
