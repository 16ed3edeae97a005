"""Recorded editing sessions on the installed language server, whose model answers what each session says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.sessions import FOLDER, Session, load, sessions
from tests.support.sessions_wire import CAPABILITIES, Replay
from tests.support.wire import Wire

SESSIONS = sessions("wire")


@pytest.fixture(scope="module")
def shared(answering_daemon: Answers) -> Iterator[Wire]:
    wire = Wire({"VELOSPEC_HOME": str(answering_daemon.home)})
    wire.initialize(CAPABILITIES)
    yield wire
    wire.close()


def replayed(wire: Wire, answers: Answers, session: Session, **how: Any) -> Replay:
    """`session` to its end: all of its texts and all that it says is shown."""
    answers.write(dict(session.answers))
    replay = Replay(wire, session, "file:///sessions", **how)
    try:
        replay.run()
    finally:
        replay.close()
        wire.close_documents()
    said = [step for step in replay.steps if step.event.shows is not None]
    shows = [step.shows.rest if step.shows else "" for step in said]
    assert shows == [step.event.shows for step in said]
    texts = {name: buffer.text for name, buffer in replay.buffers.items()}
    assert texts == {name: file.final for name, file in session.files.items()}
    return replay


def places_written_at(answers: Answers, replay: Replay) -> int:
    """At how many of the places where something was asked for the model wrote, ahead of it or then."""
    entries = [*answers.log(), *(entry for entry in answers.log("ahead") if entry["max_tokens"])]
    written = {(entry["document"], entry["prefix"]) for entry in entries}
    asked = {(asked.at.uri, asked.at.text[: asked.at.cursor]) for asked in replay.asked}
    return sum(
        any(uri == there and prefix.endswith(text) for there, text in asked) for uri, prefix in written
    )


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_an_editor_that_waits_for_each_answer(shared: Wire, answers: Answers, session: Session) -> None:
    replay = replayed(shared, answers, session, patient=True)
    prefixes = [(entry["document"], entry["prefix"], entry["suffix"]) for entry in answers.log()]
    assert len(prefixes) == len(set(prefixes)), "the model was asked the same twice"
    assert places_written_at(answers, replay) == session.asked, prefixes


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_an_editor_that_types_on(shared: Wire, answers: Answers, session: Session) -> None:
    """As VS Code: it cancels the request before."""
    replayed(shared, answers, session, cancels=True)


def test_every_session_ends_with_what_it_says() -> None:
    files = sorted(FOLDER.glob("*.toml"))
    assert len(files) >= 12
    for session in map(load, files):
        assert any(event.shows for event in session.events), session.name
        assert any(file.final != file.text for file in session.files.values()), session.name
