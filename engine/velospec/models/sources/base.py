"""The source protocol: bring one GGUF file into a folder, or say where on this disk it lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from velospec.models.progress import Progress


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is ready to be installed. `file` lies in the folder given, or is the user's own."""

    file: Path
    sha256: str
    source: str
    licence: str | None = None  # None where the source does not say; the file's metadata may


class Source(Protocol):
    """One model to be had."""

    name: str  # the name it is installed under, unless the user gives another
    words: str  # the source, as it is shown and recorded

    def fetch(self, folder: Path, progress: Progress) -> Fetched:
        """Bring the file. Raises InstallError; what it leaves in `folder` then is thrown away."""
        ...
