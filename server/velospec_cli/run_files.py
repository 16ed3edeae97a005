"""The texts that `velospec run` is given: of files, or of standard input where the name is `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from velospec.core.errors import VeloSpecError

STDIN = "-"
"""What stands for all of standard input, as a prompt and in the place of a file."""


def read_text(file: Path | str) -> str:
    """The text of `file` with LF line ends and without a byte order mark. Raises VeloSpecError."""
    try:
        if str(file) == STDIN:
            return sys.stdin.read().removeprefix("\ufeff")
        return Path(file).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VeloSpecError(f"{named(file)} is not text in UTF-8.", "Choose a text file.") from error
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise VeloSpecError(f"{named(file)} cannot be read: {why}.", "Check the path.") from error


def named(file: Path | str) -> str:
    """What to call `file` in a message."""
    return "Standard input" if str(file) == STDIN else str(file)
