"""Files of the workspace that are like the one that is edited: found, and read where the privacy gate allows.

All of it blocks, so that it belongs into a thread. Nothing is kept here but what was read when.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePath

from velospec_lsp.completion.context.pieces import Piece, cut
from velospec_lsp.privacy import PrivacyGate

_KINDS = (
    "py pyi pyw",
    "js jsx mjs cjs ts tsx mts cts vue svelte",
    "c h cc cpp cxx hpp hh hxx",
    *[
        "go",
        "rs",
        "java",
        "kt",
        "swift",
        "scala",
        "cs",
        "rb",
        "php",
        "lua",
        "sql",
        "sh",
        "html",
        "css",
        "dart",
        "zig",
    ],
)
_KIND = {ending: kind for kind in _KINDS for ending in kind.split()}
SKIPPED_FOLDERS = frozenset(
    ["node_modules", "__pycache__", "venv", "site-packages", "target", "build", "dist", "vendor"]
)
"""Folders of what others wrote, or a program made."""
_LISTED = 20_000  # entries of folders that are looked at for one file
_READ = 400  # files
LARGEST = 200_000
"""Bytes of one file: more is data, or generated."""


def kind_of(path: str) -> str:
    """What kind of source file `path` is; files of a kind can be of use to each other. Empty for others."""
    return _KIND.get(PurePath(path).suffix[1:].lower(), "")


def near(path: str, root: str) -> list[str]:
    """The files below `root` of the kind of `path`, the nearest first: by folders on the way to them."""
    kind, looked = kind_of(path), 0
    found: list[str] = []
    folders, seen = [root, path.rpartition("/")[0]], set[str]()
    while kind and folders and looked < _LISTED:
        folder = folders.pop()
        if folder in seen:
            continue
        seen.add(folder)
        for entry in entries_of(folder):
            looked += 1
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            name = entry.path.replace("\\", "/")
            if entry.is_dir():
                if entry.name not in SKIPPED_FOLDERS:
                    folders.append(name)
            elif kind_of(name) == kind and name != path:
                found.append(name)
    here = PurePath(path).parent.parts
    return sorted(found, key=lambda other: (way(here, PurePath(other).parent.parts), other))[:_READ]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file as it was found; `pieces` is empty where it may not be shown, or cannot be read."""

    stamp: tuple[int, int]  # time of change in nanoseconds, bytes
    pieces: tuple[Piece, ...] = ()


def read(path: str, known: ReadFile | None, gate: PrivacyGate) -> ReadFile | None:
    """The file as it is now; None where it is gone."""
    file = Path(path)
    try:
        stat = file.stat()
        stamp = (stat.st_mtime_ns, stat.st_size)
        uri = file.as_uri()
        if stat.st_size > LARGEST or not gate.rule(uri, stat.st_size).allowed:
            return ReadFile(stamp)
        if known is not None and known.stamp == stamp and known.pieces:
            return known
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return None
    return ReadFile(stamp, tuple(cut(uri, text)))


def entries_of(folder: str) -> Iterator[os.DirEntry[str]]:
    """What lies in `folder`, by name; nothing where it cannot be looked into."""
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return


def way(here: tuple[str, ...], there: tuple[str, ...]) -> int:
    """How many folders up and down it is from one folder to another."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    return len(here) + len(there) - 2 * common
