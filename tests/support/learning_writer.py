"""Learns and flushes without end, and says after each flush what is on the disk: for tests that kill it."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from velospec.core.learning import Lesson
from velospec.learning.workspace.library import Workspaces


def main(folder: Path) -> None:
    spaces = Workspaces(folder)
    known = spaces.of("/w").documents.get("count")
    for number in count(int(known.text) + 1 if known is not None else 1):
        for document in range(5):
            spaces.of("/w").learn(Lesson("/w", str(document), number, f"state {number}\n" * 500))
        spaces.of("/w").learn(Lesson("/w", "count", number, str(number)))
        spaces.flush()
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
