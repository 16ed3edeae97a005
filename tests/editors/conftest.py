"""The real Neovim, for the tests that drive it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import neovim as driver


@pytest.fixture(scope="session")
def neovim() -> Path:
    """The real Neovim 0.12; where it cannot be had the tests fail and say why."""
    return driver.install()
