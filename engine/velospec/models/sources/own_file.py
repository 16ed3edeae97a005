"""A GGUF file that lies on this disk already: the user's own, or one that another program keeps.

It is used where it lies, never copied, changed or deleted.
"""

from __future__ import annotations

import re
from pathlib import Path

from velospec.core.errors import InstallError
from velospec.models.files import hash_file
from velospec.models.progress import Progress
from velospec.models.sources.base import Fetched


class OwnFile:
    """A file by its path. `name` and `words` default to what the path says."""

    def __init__(self, path: Path, *, name: str = "", words: str = "", licence: str | None = None) -> None:
        """Raises InstallError if there is no such file."""
        self.path = path.expanduser().absolute()
        if not self.path.is_file():
            what = "is no ordinary file" if self.path.exists() else "does not exist"
            what = "is a folder" if self.path.is_dir() else what
            raise InstallError(
                f"{self.path} {what}.", "Give the path of a .gguf file, or see: velospec model list --found"
            )
        self.name = name or name_from(self.path.stem)
        self.words = words or str(self.path)
        self._licence = licence

    def fetch(self, folder: Path, progress: Progress) -> Fetched:  # noqa: ARG002 - nothing is brought
        """Only takes the checksum."""
        try:
            return Fetched(self.path, hash_file(self.path, progress), self.words, self._licence)
        except OSError as error:
            raise InstallError(
                f"{self.path} cannot be read: {error.strerror}.", "Check its rights."
            ) from error


def name_from(text: str) -> str:
    """A model name made from a file's or repository's name."""
    return re.sub(r"[^a-z0-9._+-]+", "-", text.lower()).strip("-._+")[:100] or "model"
