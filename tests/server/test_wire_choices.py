"""More than one choice: asked for by hand, left in the cache, or the first line of a block."""

from __future__ import annotations

import time

from tests.server.conftest import Answers
from tests.server.test_wire_typing import Typist, texts
from tests.support.wire import Wire

BLOCK = "if ready:\n    run()\n    stop()"


def test_three_distinct_choices_by_hand_and_from_the_cache_afterwards(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "one()", "others": ["one()", "two()", "two()", "three()"]}})
    typist = Typist(wire, "x = ")
    items = typist.complete(triggerKind=1)
    assert texts(items) == ["one()", "two()", "three()"]
    assert len({item["command"]["arguments"][0] for item in items}) == 3
    assert len({str(item["range"]) for item in items}) == 1
    assert typist.complete(triggerKind=1) == items
    assert typist.complete() == items
    typist.type("t")
    assert texts(typist.complete()) == ["two()", "three()"]
    assert (len(answers.log()), len(answers.log("sample"))) == (1, 4)


def test_what_is_shown_stays_the_first_choice(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "one()", "others": ["one() + 1", "two()"]}})
    typist = Typist(wire, "x = ")
    [shown] = typist.complete()
    items = typist.complete(triggerKind=1)
    assert items[0] == shown
    assert texts(items) == ["one()", "one() + 1", "two()"]
    typist.type("o")
    [first, second] = typist.complete()
    assert (first["command"], second["insertText"]) == (shown["command"], "one() + 1")
    assert len(answers.log()) == 1


def test_a_model_that_is_sure_has_one_choice_and_is_not_pressed(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "one()"})
    typist = Typist(wire, "x = ")
    for _ in range(2):
        assert texts(typist.complete(triggerKind=1)) == ["one()"]
    assert (len(answers.log()), len(answers.log("sample"))) == (1, 4)


def test_no_choices_are_looked_for_where_all_the_time_went_to_the_first(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "one()", "finish": "deadline", "others": ["two()"]}})
    typist = Typist(wire, "x = ")
    assert texts(typist.complete(triggerKind=1)) == ["one()"]
    assert answers.log("sample") == []


def test_the_first_line_of_a_block_is_a_choice_of_its_own(wire: Wire, answers: Answers) -> None:
    answers.write({"    ": BLOCK})
    typist = Typist(wire, "    ")
    [block, line] = typist.complete()
    assert (block["insertText"], line["insertText"]) == (BLOCK, "if ready:")
    assert line["range"] == block["range"]
    typist.type("if")
    [_, line] = typist.complete()
    assert line["insertText"] == "if ready:"


def test_a_first_line_that_cannot_stand_alone_is_none(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "call(\n    one,\n)", "y:": "\n    one()\n    two()"})
    assert texts(Typist(wire, "x = ").complete()) == ["call(\n    one,\n)"]
    wire.close_documents()
    assert texts(Typist(wire, "if y:").complete()) == ["\n    one()\n    two()"]


def test_by_hand_what_was_passed_over_is_shown_all_the_same(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "one()"})
    typist = Typist(wire, "x = ")
    for _ in range(2):
        assert texts(typist.complete()) == ["one()"]
        time.sleep(0.3)  # long enough to have been read
        typist.type("z")
        typist.delete(1)
    assert typist.complete() == []
    why = wire.call("workspace/executeCommand", {"command": "velospec.why"})
    assert why["reason"] == "This was passed over here before. Ask by hand to see it all the same."
    assert texts(typist.complete(triggerKind=1)) == ["one()"]
    assert len(answers.log()) == 1
