"""How many suggestions were shown, and what became of them: numbers by day and language, and nothing else.

Kept on this machine, in one small file that all editors add to. It holds no text and no name of a file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from velospec.core.file_lock import lock_file
from velospec.core.paths import state_folder

KINDS = ("shown", "accepted", "partly", "typed", "rejected", "deleted")
"""What is counted. A suggestion that is deleted soon after was accepted, too."""

RECENT_DAYS = 28
"""How far back counts say something of the user's taste, and are shown."""

_FILE = "acceptance.json"
_KEPT_DAYS = 90
_LONGEST = 40  # characters of a language's name: it comes from the editor

Days = dict[str, dict[str, Counter[str]]]
"""Counts by day (ISO), then by language."""


def read_counts(folder: Path | None = None) -> Days:
    """What is kept in `folder` (None: the user's); a file that cannot be read counts as empty."""
    try:
        raw = json.loads((_place(folder) / _FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return _checked(raw)


def add_counts(news: Days, folder: Path | None = None) -> bool:
    """Add `news` to what is kept; False where another process is at it or nothing can be written.

    The file is replaced as a whole, so that it is never half written.
    """
    place = _place(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with (place / f".{_FILE}.lock").open("a+") as file:
            lock_file(file.fileno())
            days = read_counts(place)
            merge(days, news)
            oldest = (date.today() - timedelta(days=_KEPT_DAYS)).isoformat()  # noqa: DTZ011 - the user's day
            _write(place / _FILE, {day: counts for day, counts in sorted(days.items()) if day >= oldest})
    except OSError:
        return False
    return True


def merge(days: Days, news: Days) -> None:
    """Add `news` to `days`."""
    for day, languages in news.items():
        for language, counts in languages.items():
            days.setdefault(day, {}).setdefault(language[:_LONGEST], Counter()).update(counts)


def recent(days: Days) -> dict[str, Counter[str]]:
    """The sums of the last `RECENT_DAYS` days, today among them, by language."""
    first = (date.today() - timedelta(days=RECENT_DAYS - 1)).isoformat()  # noqa: DTZ011 - the user's day
    sums: dict[str, Counter[str]] = {}
    for day, languages in days.items():
        if day >= first:
            for language, counts in languages.items():
                sums.setdefault(language, Counter()).update(counts)
    return sums


def _place(folder: Path | None) -> Path:
    return state_folder() if folder is None else folder


def _write(file: Path, days: Days) -> None:
    descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".acceptance")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            json.dump({"version": 1, "days": days}, handle)
        Path(draft).replace(file)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise


def _checked(raw: Any) -> Days:
    """What is right in a file that may be anybody's."""
    days = raw.get("days") if isinstance(raw, dict) else None
    checked: Days = {}
    for day, languages in (days if isinstance(days, dict) else {}).items():
        for language, counts in (languages if isinstance(languages, dict) else {}).items():
            right = {
                kind: count
                for kind, count in (counts if isinstance(counts, dict) else {}).items()
                if kind in KINDS and isinstance(count, int) and not isinstance(count, bool) and count > 0
            }
            if right:
                checked.setdefault(day, {})[language] = Counter(right)
    return checked
