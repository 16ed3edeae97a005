"""Recorded editing sessions with the real default model: whatever it writes, what is shown must be of use.

The replay itself checks each answer: one to a request, in order, in a range that editors show, the same offer
while it is typed along; and that documents are alike in editor and server after all of it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.conftest import CACHE
from tests.support.sessions import Session, sessions
from tests.support.sessions_wire import CAPABILITIES, Replay, Step
from tests.support.wire import Wire
from velospec.daemon.running import stop_daemons
from velospec.models.store import InstalledModel

pytestmark = pytest.mark.model

SESSIONS = sessions("wire")
FEW = ("python", "crlf", "fast", "notebook", "rust_pairs")  # one of each kind of document and editor
SETTINGS = {"budgetMs": 10_000, "manualBudgetMs": 10_000, "minConfidence": 0}
"""What is shown must not depend on how busy the machine is; and the more is shown, the more is checked."""

_SENTINEL = re.compile(r"<\|\w+\|>|<(?:fim_\w+|file_sep|PRE|SUF|MID|EOT|jupyter_\w+)>")
_TELLING = 6  # characters of a line that is more than a bracket or `else:`


@pytest.fixture(scope="module")
def home(default_model: InstalledModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the installed models and a daemon of its own."""
    assert default_model.present
    home = tmp_path_factory.mktemp("velospec")
    for name in ("data", "cache"):
        (home / name).symlink_to(CACHE / "home" / name)
    yield home
    before, os.environ["VELOSPEC_HOME"] = os.environ["VELOSPEC_HOME"], str(home)
    try:
        asyncio.run(stop_daemons())
    finally:
        os.environ["VELOSPEC_HOME"] = before


@pytest.fixture(scope="module")
def wire(home: Path) -> Iterator[Wire]:
    wire = Wire({"VELOSPEC_HOME": str(home)})
    wire.answers["window/workDoneProgress/create"] = lambda _params: None
    wire.initialize(CAPABILITIES, options=SETTINGS)
    yield wire
    wire.close()


def faults(step: Step) -> list[str]:
    """What is wrong with what is shown."""
    assert step.shows is not None
    text, cursor, rest = step.at.text, step.at.cursor, step.shows.rest
    behind = text[step.shows.end :]
    begun = text[:cursor].rpartition("\n")[2]
    lines = (begun + rest).split("\n")
    near = [line.strip() for line in behind.partition("\n")[2].split("\n") if line.strip()][:1]
    near += [line.strip() for line in reversed(text[:cursor].split("\n")[:-1]) if line.strip()][:1]
    doubled = [line for line in lines if line.strip() in near and len(line.strip()) >= _TELLING]
    sentinel = _SENTINEL.search(rest)
    special = [sentinel[0]] if sentinel else []
    return [*(f"a line that is there already: {line}" for line in doubled), *special]


def check(wire: Wire, session: Session, **how: bool) -> list[Step]:
    """Replay `session`; the steps that showed something."""
    replay = Replay(wire, session, "file:///sessions", **how)
    try:
        replay.run()
    finally:
        replay.close()
        wire.close_documents()
    steps = [step for step in replay.steps if step.shows]
    assert list(chain.from_iterable(map(faults, steps))) == []
    return steps


def test_a_few(wire: Wire) -> None:
    steps = [check(wire, session, cancels=True) for session in SESSIONS if session.name in FEW]
    assert len(steps) == len(FEW)
    assert sum(map(len, steps)) >= len(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("patient", [True, False], ids=["waits", "types on"])
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_all(wire: Wire, session: Session, patient: bool) -> None:
    check(wire, session, patient=patient)
