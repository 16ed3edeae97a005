"""What is done ahead of requests: the completion behind an accepted offer, and prompts read in pauses."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.server.conftest import Answers
from tests.server.test_wire_typing import URI, Typist, heard, texts
from tests.support.wire import Wire, change


def accept(typist: Typist, item: dict[str, object]) -> None:
    """As an editor does: one change, then the command."""
    text = str(item["insertText"])
    typist.type(text[len(typist.text) - 4 :])
    typist.wire.call("workspace/executeCommand", item["command"])


def test_what_follows_an_accepted_offer_is_there_already(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)", "x = value(1)": " + 2", "x = value(1) + 2": " + 3"})
    typist = Typist(wire, "x = ")
    [item] = typist.complete()
    answers.wait_for("ahead")
    heard(wire)
    accept(typist, item)
    assert texts(typist.complete()) == [" + 2"]
    assert [entry["prefix"] for entry in answers.log()] == ["x = "]
    [ahead] = answers.log("ahead")
    assert (ahead["prefix"], ahead["max_tokens"]) == ("x = value(1)", 96)


def test_that_nothing_follows_is_known_too(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)"})
    typist = Typist(wire, "x = ")
    [item] = typist.complete()
    answers.wait_for("ahead")
    heard(wire)
    accept(typist, item)
    assert typist.complete() == []
    assert (len(answers.log()), len(answers.log("ahead"))) == (1, 1)


def test_a_request_for_what_is_being_prepared_waits_for_it(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)", "x = value(1)": {"text": " + 2", "wait": True}})
    typist = Typist(wire, "x = ")
    [item] = typist.complete()
    answers.wait_for("ahead")
    accept(typist, item)
    asked = typist.ask()
    heard(wire)
    answers.touch("go")
    assert texts(wire.result(asked)) == [" + 2"]
    assert (len(answers.log()), len(answers.log("ahead")), answers.log("cancelled")) == (1, 1, [])


def test_what_is_prepared_gives_way_to_a_request(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)", "x = value(1)": {"text": " + 2", "wait": True}, "x = o": "ther"})
    typist = Typist(wire, "x = ")
    typist.complete()
    answers.wait_for("ahead")
    typist.type("v")
    assert texts(typist.complete()) == ["value(1)"]  # from the cache: it needs no model, and stops nothing
    assert answers.log("cancelled") == []
    typist.delete(1)
    typist.type("o")
    assert texts(typist.complete()) == ["ther"]
    [cancelled] = answers.wait_for("cancelled")
    assert cancelled["prefix"] == "x = value(1)"


def test_a_request_in_another_document_stops_it_too(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)", "x = value(1)": {"text": " + 2", "wait": True}})
    typist = Typist(wire, "x = ")
    typist.complete()
    answers.wait_for("ahead")
    other = "file:///project/other.py"
    wire.open(other, "y = 1\n")
    assert wire.complete(other, 0, 5) == []
    [cancelled] = answers.wait_for("cancelled")
    assert cancelled["prefix"] == "x = value(1)"


def test_an_offer_that_the_time_cut_off_grows_while_it_is_shown(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value", "finish": "deadline"}, "x = value": " + 2"})
    typist = Typist(wire, "x = ")
    [item] = typist.complete()
    answers.wait_for("ahead")
    heard(wire)
    typist.type("v")
    [longer] = typist.complete()
    assert (item["insertText"], longer["insertText"]) == ("value", "value + 2")
    assert longer["command"] == item["command"]
    assert longer["range"]["start"] == item["range"]["start"]
    assert len(answers.log()) == 1


def test_where_nothing_is_asked_the_prompt_is_read(start: Callable[..., Wire], answers: Answers) -> None:
    wire = start()
    wire.initialize()
    typist = Typist(wire, "x = 1")
    [opened] = answers.wait_for("ahead")
    assert (opened["document"], opened["prefix"], opened["max_tokens"]) == (URI, "", 0)
    typist.type("y")
    entries = answers.wait_for("ahead", 2)
    assert (entries[1]["prefix"], entries[1]["max_tokens"]) == ("x = 1y", 0)
    # Another document may only be looked at, while this one is worked on.
    wire.open("file:///project/other.py", "y = 1\n")
    time.sleep(0.7)  # longer than the server waits before it reads
    heard(wire)
    assert (len(answers.log("ahead")), answers.log()) == (2, [])


def test_a_request_in_time_leaves_nothing_to_read(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)"})
    typist = Typist(wire, "x = ")
    typist.complete()
    for char in "value":
        typist.type(char)
        typist.complete()
    answers.wait_for("ahead")
    time.sleep(0.7)  # longer than the server waits before it reads
    assert [entry["prefix"] for entry in answers.log("ahead") if entry["max_tokens"] == 0] == []


def test_a_document_that_is_closed_has_nothing_prepared(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)"})
    typist = Typist(wire, "x = ")
    typist.complete()
    wire.close_documents()
    time.sleep(0.4)  # longer than the server waits before it begins
    heard(wire)
    assert answers.log("ahead") == []


def test_nothing_is_read_of_a_file_that_is_kept_from_the_model(wire: Wire, answers: Answers) -> None:
    wire.open("file:///project/.env", "TOKEN=")
    wire.notify("textDocument/didChange", change("file:///project/.env", 2, (0, 6, 0, 6, "a")))
    time.sleep(0.7)  # as above
    heard(wire)
    assert answers.log("ahead") == []
