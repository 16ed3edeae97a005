"""A schema file and the files it refers to, as one schema whose references all lie within it.

Knows no workspace: whoever asks says which files may be read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from velospec_lsp.json_schema.alternatives import resolve

_DATA = frozenset({"const", "enum", "default", "examples"})  # what is no schema, whatever it looks like
_MOST_FILES = 50


class SchemaFileError(Exception):
    """A schema cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """`dropped` are the references that could not be followed, each as it stands; they allow anything."""

    schema: dict[str, Any]
    files: tuple[Path, ...]
    dropped: tuple[str, ...]


def bundle(path: Path, read: Callable[[Path], str]) -> Bundle:
    """The schema in the file `path`.

    `read` gives a file's text, or raises SchemaFileError for one that it must not read. So does this where
    the file itself cannot be used; a reference that cannot be followed is dropped.
    """
    return _Bundler(read).bundle(path)


class _Bundler:
    def __init__(self, read: Callable[[Path], str]) -> None:
        self._read = read
        self._names: dict[Path, str] = {}  # of the files besides the first, in the definitions
        self._loaded: dict[Path, Any] = {}
        self._dropped: list[str] = []
        self._first = Path()

    def bundle(self, path: Path) -> Bundle:
        self._first = path
        root = self._copy(self._load(path), path)
        if not isinstance(root, dict):
            raise SchemaFileError(f"The JSON Schema {path.name} is no object.")
        definitions: dict[str, Any] = {}
        while len(definitions) < len(self._names):
            for file, name in list(self._names.items()):
                if name not in definitions:
                    definitions[name] = self._copy(self._loaded[file], file)
        if definitions:
            root["$defs"] = {**root.get("$defs", {}), **definitions}
        dropped = dict.fromkeys(self._dropped + _unresolved(root))
        return Bundle(root, tuple(self._loaded), tuple(dropped))

    def _load(self, path: Path) -> Any:
        if path not in self._loaded:
            if len(self._loaded) >= _MOST_FILES:
                raise SchemaFileError(f"The JSON Schema refers to more than {_MOST_FILES} files.")
            try:
                self._loaded[path] = json.loads(self._read(path).removeprefix("\ufeff"))
            except (ValueError, RecursionError) as error:
                raise SchemaFileError(f"The JSON Schema {path.name} is not JSON: {error}.") from error
        return self._loaded[path]

    def _copy(self, node: Any, file: Path) -> Any:
        if isinstance(node, list):
            return [self._copy(part, file) for part in node]
        if not isinstance(node, dict):
            return node
        copied = {}
        for key, value in node.items():
            if key in ("$id", "id", "$anchor") and isinstance(value, str):
                continue  # names for references that are resolved here, and would lead elsewhere now
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                reference = self._reference(value, file)
                if reference is not None:
                    copied["$ref"] = reference
            elif key in _DATA:
                copied[key] = value
            else:
                copied[key] = self._copy(value, file)
        return copied

    def _reference(self, value: str, file: Path) -> str | None:
        """What `value`, in `file`, is called in the bundle; None where it cannot be followed."""
        name, _, fragment = value.partition("#")
        fragment = unquote(fragment)
        own = self._own_names(file)
        target = file if not name or name in own else self._target(name, file)
        if target is None or (fragment and not fragment.startswith("/")):
            self._dropped.append(value)
            return None
        if target == self._first:
            return f"#{fragment}"
        known = self._names.setdefault(target, f"file {len(self._names)}: {target.name}".replace("/", "_"))
        return f"#/$defs/{known.replace('~', '~0')}{fragment}"

    def _own_names(self, file: Path) -> tuple[str, ...]:
        """What `file` calls itself."""
        loaded = self._loaded[file]
        names = (loaded.get("$id"), loaded.get("id")) if isinstance(loaded, dict) else ()
        return tuple(name.rstrip("#") for name in names if isinstance(name, str))

    def _target(self, name: str, file: Path) -> Path | None:
        path = file_of(name, file.parent)
        if path is None:
            return None
        try:
            self._load(path)
        except SchemaFileError:
            return None
        return path


def file_of(reference: str, folder: Path) -> Path | None:
    """The file that a path relative to `folder`, or a file URI, names; None for what is on the net."""
    scheme, colon, rest = reference.partition(":")
    if colon and scheme.lower() == "file":
        path = unquote(rest.removeprefix("//localhost").removeprefix("//"))
    elif colon and len(scheme) > 1 and scheme.isalnum():
        return None
    else:
        path = unquote(reference)
    return Path((folder / path).resolve()) if path and "\0" not in path else None


def _unresolved(root: dict[str, Any]) -> list[str]:
    """The references in `root` that name nothing; they are taken out."""
    missing: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, list):
            for part in node:
                visit(part)
        elif isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                try:
                    resolve(root, reference)
                except KeyError:
                    missing.append(reference)
                    del node["$ref"]
            for key, part in node.items():
                if key not in _DATA:
                    visit(part)

    visit(root)
    return missing
