"""Logging: to stderr, and to a file that is kept small. No source text and no parameters of messages."""

from __future__ import annotations

import logging
import logging.handlers
import sys

from velospec.core import paths

LEVELS = ("debug", "info", "warning", "error")
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
_OWN = ("velospec", "velospec_lsp", "__main__")


class SourceFree(logging.Filter):
    """Lets records of other libraries through only without their arguments and without exception texts.

    The protocol library logs whole messages, and the text of a document would come along.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.split(".")[0] not in _OWN:
            record.args = None
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            # What an exception says may quote its input; where it came from does not.
            record.exc_info = (Exception, Exception(f"{kind.__name__} (text left out)"), trace)
        return True


def set_up_logging(level: str) -> None:
    """Log from `level` on; the file is left out where it cannot be written."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    try:
        folder = paths.log_folder()
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "language-server.log"
        handlers.append(
            logging.handlers.RotatingFileHandler(
                file, maxBytes=1_000_000, backupCount=2, encoding="utf-8", delay=True
            )
        )
    except OSError as error:
        print(f"velospec-lsp: no log file: {error.strerror}", file=sys.stderr)  # noqa: T201  # stderr is the log
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_FORMAT))
        handler.addFilter(SourceFree())
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(level.upper())
    # Its lines are one per message and per registered method.
    logging.getLogger("pygls").setLevel(max(logging.WARNING, root.level))
