"""The files of a workspace that are worth learning, the most relevant first, within bounds.

Reads folders and files, and so belongs into a thread. Whether a file may be read, the privacy gate says;
folders that it keeps out as a whole, hidden ones, symbolic links and what others wrote are not entered.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from velospec_lsp.completion.context.files import LARGEST, SKIPPED_FOLDERS, entries_of, kind_of, way
from velospec_lsp.privacy import PrivacyGate

MOST_FILES = 4000
MOST_BYTES = 5 << 20  # less than the daemon keeps of a workspace, so that it drops none of them again
_LISTED = 50_000  # entries of folders that are looked at
_IMPORTED, _BESIDE, _TODAY, _THIS_WEEK, _NEAR = 8, 7, 6, 5, 4
_DAY = 86_400.0
_BREATH = 0.0005  # seconds for the other threads, before each folder: one of them serves the user

_IMPORT = re.compile(
    r"""^\s*(?:import|from|use|using|require|require_relative|include|export|mod|package)\b.*
    | ^\s*\#\s*include\b.* | .*\brequire\s*\(.* | .*\bfrom\s+['"].*""",
    re.VERBOSE,
)
_NAME = re.compile(r"\w[\w-]*")


Stamp = tuple[int, int]
"""Time of change in nanoseconds, and bytes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was found. `relevance` is that of `velospec.core.learning.Lesson`."""

    path: str
    stamp: Stamp
    relevance: int = 1

    @property
    def uri(self) -> str:
        return Path(self.path).as_uri()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is open: the paths, and the names that these files import."""

    paths: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()


def find_files(root: str, gate: PrivacyGate, around: Surroundings) -> list[Found]:
    """The files below `root`, the most relevant first, of equals those that were changed last.

    No more than MOST_FILES, and MOST_BYTES of them; those that are open are left out.
    """
    now = time.time()
    rated = [
        Found(path, stamp, _relevance(path, stamp, around, now))
        for path, stamp in _files(root, gate)
        if path not in around.paths and stamp[1] <= LARGEST
    ]
    rated.sort(key=lambda found: (-found.relevance, -found.stamp[0], found.path))
    left = MOST_BYTES
    taken: list[Found] = []
    for found in rated[:MOST_FILES]:
        left -= found.stamp[1]
        if left < 0:
            break
        taken.append(found)
    return taken


def look_at(path: str, root: str, gate: PrivacyGate, *, known: bool = False) -> Found | None:
    """One file of `root`, if it may be read and is of those that `find_files` finds, or `known` already."""
    within = PurePath(path).relative_to(root)
    hidden = any(part.startswith(".") or part in SKIPPED_FOLDERS for part in within.parts)
    linked = os.path.realpath(path) != os.path.realpath(root) + os.sep + str(within)
    if not known and (hidden or linked or not kind_of(path)):
        return None
    stamp = stamp_of(path)
    if stamp is None or stamp[1] > LARGEST or not allows(gate, path, stamp):
        return None
    return Found(path, stamp, _relevance(path, stamp, Surroundings(), time.time()))


def read(found: Found, gate: PrivacyGate) -> str | None:
    r"""The file's text with \n line ends; None where it may not be read, or cannot."""
    if not allows(gate, found.path, found.stamp):
        return None
    try:
        return Path(found.path).read_text("utf-8")
    except (OSError, ValueError):
        return None


def allows(gate: PrivacyGate, path: str, stamp: Stamp) -> bool:
    """Whether the gate lets a file's text pass."""
    return gate.rule(Path(path).as_uri(), stamp[1]).allowed


def imported_names(lines: Iterable[str]) -> Iterator[str]:
    """The words of a file's imports, among which are the names of the files that it uses."""
    for line in lines:
        if _IMPORT.match(line):
            yield from _NAME.findall(line)


def exists(path: str) -> bool:
    """Whether there is such a file; one that cannot be looked at counts as there."""
    try:
        return Path(path).exists()
    except OSError:
        return True


def _files(root: str, gate: PrivacyGate) -> Iterator[tuple[str, Stamp]]:
    looked, folders = 0, [root]
    while folders:
        time.sleep(_BREATH)
        for entry in entries_of(folders.pop()):
            looked += 1
            if looked > _LISTED:
                return
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            name = entry.path.replace("\\", "/")
            if entry.is_dir():
                if entry.name not in SKIPPED_FOLDERS and not gate.excludes_folder(name):
                    folders.append(name)
            elif kind_of(name) and (stamp := stamp_of(name)) is not None:
                yield name, stamp


def stamp_of(path: str) -> Stamp | None:
    """When a file was changed, and its size; None where there is none."""
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _relevance(path: str, stamp: Stamp, around: Surroundings, now: float) -> int:
    pure = PurePath(path)
    name = pure.parent.name if pure.stem in ("__init__", "index", "mod") else pure.stem
    if name in around.imported:
        return _IMPORTED
    if any(path.rpartition("/")[0] == other.rpartition("/")[0] for other in around.paths):
        return _BESIDE
    age = now - stamp[0] / 1e9
    if age < 7 * _DAY:
        return _TODAY if age < _DAY else _THIS_WEEK
    ways = (way(pure.parent.parts, PurePath(other).parent.parts) for other in around.paths)
    return max(_NEAR - min(ways, default=_NEAR) // 2, 1)
