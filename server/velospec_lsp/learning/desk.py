"""What learning needs of the server that it is a part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from velospec_lsp.privacy import PrivacyGate


@dataclass(frozen=True, slots=True)
class Desk:
    """Each is asked anew whenever it counts."""

    gate: Callable[[], PrivacyGate]
    folder_of: Callable[[str], str]  # the workspace folder of a URI; "" where there is none
    settled: Callable[[], bool]  # whether the settings are known, and the server is switched on
    learns: Callable[[], bool]  # whether the user wants anything learned
    forgotten: Callable[[str], None]  # drops what the server itself keeps of a document

    def serves(self, workspace: str) -> bool:
        """Whether that folder is one of the workspace's, by now."""
        return self.folder_of(Path(workspace, "any").as_uri()) == workspace
