"""A model by what a program calls it: the name of an installed one, or the path of a GGUF file.

A file that is not installed is used where it lies, with a folder of its own for what is measured of it.
"""

from __future__ import annotations

import re
from pathlib import Path

from velospec.core.errors import ModelLoadError, ModelNotFoundError
from velospec.core.paths import data_folder
from velospec.models.files import hash_file
from velospec.models.gguf import read_head
from velospec.models.store import InstalledModel, ModelStore

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_KEY = 16  # digits of a file's sum that name its folder


def find_model(wanted: str | Path, store: ModelStore | None = None) -> InstalledModel:
    """The model that `wanted` names, its file looked at.

    The first time, a file that is not installed is read once for its sum.

    Raises:
        ModelNotFoundError: there is no such file, and no model of that name is installed.
        ModelLoadError: the file is no GGUF, or has changed since it was installed.
    """
    store = store if store is not None else ModelStore()
    path = Path(wanted).expanduser()
    if path.is_file():
        return _of_file(path.absolute(), store)
    if isinstance(wanted, Path) or path.suffix.lower() == ".gguf":
        raise ModelNotFoundError(f"There is no file {path}.", "Give the path of a GGUF file.")
    installed = {model.name for model in store.list()}
    if wanted not in installed and _HUB_NAME.fullmatch(wanted):
        raise ModelNotFoundError(
            f"{wanted} names a repository of the Hugging Face hub; models are run from GGUF files.",
            "Install a GGUF of it, velospec model install hf:OWNER/REPOSITORY, then give the name that it "
            f"has here. Installed: {', '.join(sorted(installed)) or 'none'}.",
        )
    return store.check(store.get(wanted))


def _of_file(path: Path, store: ModelStore) -> InstalledModel:
    resolved = path.resolve()
    for model in store.list():
        if model.path.resolve() == resolved:
            return store.check(model)
    head = read_head(path)
    if head.vocabulary_only or not head.architecture:
        raise ModelLoadError(f"{path} is no model that can be run.", "Give the path of a GGUF with weights.")
    digest, stat = hash_file(path), path.stat()
    folder = data_folder() / "files" / digest[:_KEY]
    folder.mkdir(parents=True, exist_ok=True)
    return InstalledModel(
        name=path.stem,
        roles=(),
        path=path,
        sha256=digest,
        size=stat.st_size,
        licence=str(head.scalars.get("general.license", "unknown")),
        source=str(path),
        infill=None,
        folder=folder,
        modified_ns=stat.st_mtime_ns,
    )
