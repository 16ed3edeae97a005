"""The home that tests of the daemon have to themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon_harness import short_home
from velospec.daemon.running import stop_daemons


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of the test's own; whatever daemon was started in it is gone afterwards."""
    with short_home() as folder:
        monkeypatch.setenv("VELOSPEC_HOME", str(folder))
        yield folder
        asyncio.run(stop_daemons(force=True))
