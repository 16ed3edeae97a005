"""Keeps learned data in files, and gives it back only where it was made of the same things.

A file holds one value under a key, which names what the value was made of (a pack, a vocabulary, a format).
It is a copy of what can be made anew: one that is damaged, of another key or of another version is not there.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack

_FORMAT = 1


def load(path: Path, key: str) -> Any | None:
    """The value that was kept in `path` under `key`; None if there is none."""
    try:
        found = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
    except (OSError, ValueError, msgpack.UnpackException):
        return None
    if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("key") != key:
        return None
    return found.get("value")


def save(path: Path, key: str, value: Any) -> None:
    """Keep `value`, plain data, in `path` under `key`. Whoever reads sees the old file or the new, whole.

    A disk that cannot hold it costs time at the next start and nothing else, so that is no error.
    """
    data = msgpack.packb({"format": _FORMAT, "key": key, "value": value})
    with suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
