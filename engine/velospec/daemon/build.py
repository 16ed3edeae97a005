"""Which build of VeloSpec this is, and which of two is newer.

A build is the version and the time of the newest source file, so that a daemon started before an upgrade,
or before an edit in a checkout, is known to be older. Knows nothing of protocols or processes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import velospec


@cache
def current_build() -> str:
    """This installation's build, such as `0.1.0+1764400000`."""
    folder = Path(velospec.__file__).parent
    newest = max(int(path.stat().st_mtime) for path in folder.rglob("*.py"))
    return f"{velospec.__version__}+{newest}"


def newer(one: str, other: str) -> bool:
    """Whether build `one` is newer than `other`; of two that cannot be read, neither is."""
    return _order(one) > _order(other)


def _order(build: str) -> tuple[tuple[int, ...], int]:
    version, _, stamp = build.partition("+")
    numbers = tuple(int(part) for part in re.findall(r"\d{1,18}", version))
    return numbers, int(stamp) if re.fullmatch(r"[0-9]{1,18}", stamp) else 0
