"""The sample project of `velospec demo`, and the places in it where something is typed.

Data only; nothing here knows how a completion is made or shown.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file: `start` is typed after `anchor`, then `more`; each time an answer is asked for."""

    file: str  # relative to the project, with slashes
    language: str
    anchor: str  # text of the file that stands once in it
    start: str
    more: str

    def split(self, text: str) -> tuple[str, str]:
        """The file's text before and after the place. Raises ValueError where the anchor is not there."""
        index = text.index(self.anchor) + len(self.anchor)
        return text[:index], text[index:]


SPOTS = (
    Spot(
        "inventory/stock.py",
        "python",
        "if item.on_hand < limit]",
        "\n\n    def find(",
        'self, name: str) -> Item | None:\n        """The item of that name."""\n        for item in',
    ),
    Spot(
        "web/stock.ts",
        "typescript",
        "items.filter((item) => item.onHand < limit);\n}",
        "\n\nexport function findByNumber(",
        "items: Item[], number: string): Item | undefined {\n  return",
    ),
    Spot(
        "inventory/report.py",
        "python",
        '{item.on_hand:>10}")',
        "\n    lines.append(",
        'f"total',
    ),
)
"""What the demo types, in this order."""

SPEED_FILES = (("inventory/stock.py", "inventory/report.py", "web/stock.ts"), 128)
"""The files whose first two thirds are continued to compare speeds, and for how many tokens each."""

RACE_FILE, RACE_TOKENS = "inventory/stock.py", 160
"""The file whose first two thirds are continued in the race, and for how many tokens."""


def copy_project(folder: Path) -> Path:
    """Copies the sample project into `folder` and returns its root."""
    with as_file(files("velospec_cli") / "demo_project") as source:
        ignore = shutil.ignore_patterns("__pycache__")
        return Path(shutil.copytree(source, folder / "inventory-sample", ignore=ignore))
