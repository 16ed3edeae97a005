"""Where VeloSpec keeps things: models and profiles, logs, the daemon's socket.

`VELOSPEC_HOME` moves all of it into one folder; otherwise the platform's own folders are used.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_APP = "velospec"


def home() -> Path | None:
    """The folder that `VELOSPEC_HOME` names, or None."""
    value = os.environ.get("VELOSPEC_HOME")
    return Path(value).expanduser().absolute() if value else None


def data_folder() -> Path:
    """Models, their profiles, and the user's choices."""
    base = home()
    return base / "data" if base else Path(platformdirs.user_data_dir(_APP, appauthor=False))


def workspaces_folder() -> Path:
    """What was learned of workspaces, a file for each; see docs/learning.md."""
    return data_folder() / "workspaces"


def log_folder() -> Path:
    """Logs of the daemon and the language server; they hold no source text."""
    base = home()
    return base / "log" if base else Path(platformdirs.user_log_dir(_APP, appauthor=False))


def state_folder() -> Path:
    """What is remembered between sessions and can be done without: counts."""
    base = home()
    return base / "state" if base else Path(platformdirs.user_state_dir(_APP, appauthor=False))


def runtime_folder() -> Path:
    """The daemon's socket and lock; made private (0700) by the daemon."""
    base = home()
    return base / "run" if base else Path(platformdirs.user_runtime_dir(_APP, appauthor=False))
