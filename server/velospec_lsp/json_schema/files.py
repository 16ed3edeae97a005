"""Which schema a document has, read from the workspace's files and kept until one of them changes.

Nothing is fetched, and nothing outside of the workspace or kept from the model is read.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from velospec_lsp.gitignore import compile_patterns
from velospec_lsp.json_schema.bundle import SchemaFileError, bundle, file_of
from velospec_lsp.privacy import PrivacyGate
from velospec_lsp.settings import JsonSchema

_KEPT = 16  # schemas
_Stamp = tuple[int, int]  # time and size


@dataclass(frozen=True, slots=True)
class DocumentSchema:
    """A schema that is ready to use: `schema` with its files in one, `text` the same as JSON.

    `name` is for messages; `dropped` are the references that could not be followed.
    """

    name: str
    schema: dict[str, Any]
    text: str
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that files may be read in (of a document outside of all: its own), and the privacy gate."""

    roots: tuple[str, ...]
    gate: PrivacyGate

    def folders(self, document: Path) -> list[Path]:
        """The folders that count for `document`, the innermost first."""
        own = [Path(root) for root in self.roots if document.is_relative_to(root)]
        return sorted(own, key=lambda folder: len(folder.parts), reverse=True) or [document.parent]


class SchemaFiles:
    """Finds schemas and keeps the last ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[dict[Path, _Stamp], DocumentSchema]] = OrderedDict()

    def find(
        self, document: Path, named: str | None, mapped: tuple[JsonSchema, ...], workspace: Workspace
    ) -> DocumentSchema | None:
        """The schema of `document`, which names it as `named`; None where it has none in the workspace.

        `mapped` is the setting. Raises SchemaFileError where there is one that cannot be used.
        """
        folders = workspace.folders(document)
        path = _path_of(document, named, mapped, folders)
        return None if path is None else self._read(path, folders, workspace.gate)

    def _read(self, path: Path, folders: list[Path], gate: PrivacyGate) -> DocumentSchema:
        stamps, schema = self._kept.get(path, ({}, None))
        for file in stamps:
            _check(file, folders, gate)
        if schema is not None and all(_stamp(file) == stamp for file, stamp in stamps.items()):
            self._kept.move_to_end(path)
            return schema

        def text(file: Path) -> str:
            _check(file, folders, gate)
            stamps[file] = _stamp(file)
            try:
                return file.read_text("utf-8")
            except (OSError, ValueError) as error:
                raise SchemaFileError(f"The JSON Schema {file.name} cannot be read: {error}.") from error

        stamps = {}
        found = bundle(path, text)
        schema = DocumentSchema(
            path.name, found.schema, json.dumps(found.schema, ensure_ascii=False), found.dropped
        )
        self._kept[path] = (stamps, schema)
        self._kept.move_to_end(path)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return schema


def _path_of(
    document: Path, named: str | None, mapped: tuple[JsonSchema, ...], folders: list[Path]
) -> Path | None:
    """The file that the document names as its schema, else the one that the setting does."""
    if named is not None:
        own = file_of(named, document.parent)
        if own is not None:
            return own
        for entry in mapped:
            if entry.url and entry.url.rstrip("#") == named.rstrip("#"):
                return _mapped(entry, folders)
    for entry in mapped:
        patterns = compile_patterns(entry.file_match)
        if any(patterns.match_file(_relative(document, folder)) for folder in folders):
            return _mapped(entry, folders)
    return None


def _mapped(entry: JsonSchema, folders: list[Path]) -> Path:
    """The file of an entry; a relative path counts from the innermost folder that has such a file."""
    candidates = [(folder / entry.path).resolve() for folder in folders]
    return next((path for path in candidates if path.exists()), candidates[0])


def _relative(document: Path, folder: Path) -> str:
    return document.relative_to(folder).as_posix() if document.is_relative_to(folder) else document.name


def _check(file: Path, folders: list[Path], gate: PrivacyGate) -> None:
    """Raise SchemaFileError unless `file`, links followed, may be read."""
    if not any(file.is_relative_to(folder.resolve()) for folder in folders):
        raise SchemaFileError(f"The JSON Schema {file.name} lies outside of the workspace, and is not read.")
    try:
        size = file.stat().st_size
    except OSError as error:
        raise SchemaFileError(f"The JSON Schema {file.name} cannot be read: {error.strerror}.") from error
    ruling = gate.rule(file.as_uri(), size)
    if not ruling.allowed:
        raise SchemaFileError(f"The JSON Schema {file.name} is kept from the model: {ruling.reason}.")


def _stamp(file: Path) -> _Stamp:
    try:
        stat = file.stat()
    except OSError:
        return 0, -1
    return stat.st_mtime_ns, stat.st_size
