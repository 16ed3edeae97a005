"""A lock between processes, on an open file: the system drops it with the file or the process."""

from __future__ import annotations

import sys


def lock_file(descriptor: int) -> None:
    """Take the lock of the file at once. Raises OSError where another process holds it."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - exists on Windows only

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # noqa: PLC0415 - exists on POSIX only

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
