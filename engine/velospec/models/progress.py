"""How long work reports what it has done. The one who shows it (a terminal, an editor) is not known here."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and the whole (0 where that is unknown).

The unit is bytes for downloads and copies, steps otherwise. An exception raised by the callback ends the
work, which then cleans up after itself.
"""


def silent(label: str, done: int, total: int) -> None:
    """Show nothing."""
