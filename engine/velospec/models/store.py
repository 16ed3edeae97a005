"""The models installed on this machine: which there are, which is the default for each role, removal.

A model is a folder with a `manifest.json` under `<data>/models/<name>/`. Its file lies in that folder, or,
for a file of the user's own, anywhere on the disk; such a file is never copied, changed or deleted. What is
not known here: where models come from (`install`) and how they are run.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from velospec.core.errors import InstallError, ModelLoadError, ModelNotFoundError, SettingsError
from velospec.core.paths import data_folder
from velospec.models.catalogue import catalogue
from velospec.models.files import disk_errors, hash_file, install_lock, write_json

ROLES = ("completion", "chat")
"""What a model can be used for: infilling at a cursor, or answering in a conversation."""

DRAFT = "draft"
"""A role that any model can be given: drafting for larger ones. None has it unless the user says so."""

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
_CHOICES = "defaults.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """One installed model, as its manifest describes it. Sizes in bytes."""

    name: str
    roles: tuple[str, ...]
    path: Path
    sha256: str
    size: int
    licence: str
    source: str  # where it came from, in words that `model install` understands where it can
    infill: str | None  # an infill template or family that overrides the file's own metadata
    folder: Path  # holds the manifest and what is measured of this model
    modified_ns: int = 0  # the file's modification time when its sum was taken
    description: str = ""

    @property
    def external(self) -> bool:
        """Whether the file belongs to the user and not to VeloSpec."""
        return not self.path.is_relative_to(self.folder)

    @property
    def present(self) -> bool:
        """Whether the file is there with the size that was installed; cheap."""
        return self.path.is_file() and self.path.stat().st_size == self.size

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `path` is absolute."""
        return {
            "name": self.name,
            "roles": list(self.roles),
            "path": str(self.path),
            "sha256": self.sha256,
            "size": self.size,
            "licence": self.licence,
            "source": self.source,
            "infill": self.infill,
            "folder": str(self.folder),
            "external": self.external,
            "description": self.description,
        }


class ModelStore:
    """Reads and changes the installed models. Cheap to construct; holds no open files."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` holds one folder per model; by default `models` in the user's data folder."""
        self.folder = folder if folder is not None else data_folder() / "models"

    def list(self) -> list[InstalledModel]:
        """All installed models by name. A folder with a damaged manifest is left out.

        Raises InstallError where there is no looking into the folder, or a file has its place.
        """
        with disk_errors(self.folder):
            if not self.folder.is_dir():
                _require_room(self.folder)
                return []
            entries = sorted(self.folder.iterdir())
        found = (read_manifest(entry) for entry in entries if _NAME.fullmatch(entry.name))
        return [model for model in found if model is not None]

    def get(self, name: str) -> InstalledModel:
        """The installed model `name`. Raises ModelNotFoundError."""
        model = read_manifest(self.folder / name) if _NAME.fullmatch(name) else None
        if model is None:
            raise ModelNotFoundError(f'No model "{name}" is installed.', self._remedy(name))
        return model

    def default(self, role: str) -> InstalledModel | None:
        """The model used for `role`: the user's choice, else the only or first one with that role.

        For DRAFT it is the user's choice alone.
        """
        chosen = self._choices().get(role)
        fitting = [model for model in self.list() if _fits(model, role, chosen)]
        return next((model for model in fitting if model.name == chosen), fitting[0] if fitting else None)

    def use(self, name: str, role: str) -> None:
        """Make `name` the default for `role`. Raises ModelNotFoundError, SettingsError, InstallError."""
        model = self.get(name)
        if role not in {*ROLES, DRAFT}:
            raise SettingsError(f'There is no role "{role}".', f"Roles are {', '.join((*ROLES, DRAFT))}.")
        if not _fits(model, role, name):
            raise SettingsError(
                f"{name} cannot be used for {role}; it is made for {' and '.join(model.roles)}.",
                f"Install another model for {role}: velospec model install",
            )
        with disk_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / _CHOICES, {**self._choices(), role: name})

    def use_none(self, role: str) -> None:
        """Forget the user's choice for `role`. Raises InstallError if the disk refuses."""
        left = {other: chosen for other, chosen in self._choices().items() if other != role}
        with disk_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / _CHOICES, left)

    def remove(self, name: str) -> None:
        """Uninstall `name`; a file of the user's own stays where it is.

        Raises ModelNotFoundError, and InstallError while an installation is under way or if the disk refuses.
        """
        model = self.get(name)
        with disk_errors(self.folder), install_lock(self.folder):
            # Renamed first, so that an interruption leaves a leftover that the next install sweeps up.
            doomed = self.folder / f".removed-{name}"
            model.folder.rename(doomed)
            shutil.rmtree(doomed)
            left = {role: chosen for role, chosen in self._choices().items() if chosen != name}
            write_json(self.folder / _CHOICES, left)

    def check(self, model: InstalledModel) -> InstalledModel:
        """`model`, if its file is still the one that was installed; call it before loading.

        Size and modification time are compared; only where the time differs is the file read again.
        Raises ModelLoadError when the file is gone or has other content.
        """
        try:
            stat = model.path.stat()
        except OSError as error:
            raise ModelLoadError(
                f"The file of {model.name} cannot be read: {model.path} ({error.strerror}).",
                f"Bring it back, or: velospec model remove {model.name}",
            ) from error
        if stat.st_size == model.size and stat.st_mtime_ns == model.modified_ns:
            return model
        if stat.st_size != model.size or hash_file(model.path) != model.sha256:
            again = str(model.path) if model.external else model.name
            raise ModelLoadError(
                f"The file of {model.name} has changed since it was installed: {model.path}.",
                f'Install it anew: velospec model install --force "{again}"',
            )
        manifest = json.loads((model.folder / MANIFEST).read_text("utf-8"))
        write_json(model.folder / MANIFEST, {**manifest, "modified_ns": stat.st_mtime_ns})
        return self.get(model.name)

    def _choices(self) -> dict[str, str]:
        try:
            choices = json.loads((self.folder / _CHOICES).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return choices if isinstance(choices, dict) else {}

    def _remedy(self, name: str) -> str:
        installed = ", ".join(model.name for model in self.list())
        have = f"Installed: {installed}. " if installed else ""
        if name in catalogue():
            return f"{have}Install it: velospec model install {name}"
        return f"{have}See what there is: velospec model list"


def _require_room(folder: Path) -> None:
    """Raises InstallError where `folder` cannot be there, since it, or what should hold it, is a file."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir():
        raise InstallError(
            f"{nearest} is a file; VeloSpec keeps its models in a folder.",
            "Move it away, or let VELOSPEC_HOME name a folder.",
        )


def _fits(model: InstalledModel, role: str, chosen: str | None) -> bool:
    return model.name == chosen if role == DRAFT else role in model.roles


def is_model_name(name: str) -> bool:
    """Whether `name` can name an installed model: it names a folder, so letters, digits and ._+- only."""
    return _NAME.fullmatch(name) is not None


def read_manifest(folder: Path) -> InstalledModel | None:
    """The model that `folder` holds, or None where there is no manifest of this version."""
    try:
        raw = json.loads((folder / MANIFEST).read_text("utf-8"))
        if raw["version"] != MANIFEST_VERSION:
            return None
        return InstalledModel(
            name=folder.name,
            roles=tuple(str(role) for role in raw["roles"]),
            path=folder / raw["file"],  # an absolute `file` replaces the folder
            sha256=str(raw["sha256"]),
            size=int(raw["size"]),
            licence=str(raw["licence"]),
            source=str(raw["source"]),
            infill=raw["infill"],
            folder=folder,
            modified_ns=int(raw["modified_ns"]),
            description=str(raw.get("description", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
