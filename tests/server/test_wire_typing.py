"""What the user sees while typing: the answer on its way is waited for, kept if it is late, and stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server.conftest import Answers
from tests.support.wire import Wire, at, change

URI = "file:///project/typing.py"
INLINE = "textDocument/inlineCompletion"


class Typist:
    """Types at the end of a document's first line."""

    def __init__(self, wire: Wire, text: str) -> None:
        self.wire, self.text, self.version = wire, text, 1
        wire.open(URI, text)

    @property
    def column(self) -> int:
        return len(self.text)

    def type(self, text: str, behind: str = "") -> None:
        """One change, as an editor sends it that puts `behind` behind the cursor."""
        self.version += 1
        edit = (0, self.column, 0, self.column, text + behind)
        self.wire.notify("textDocument/didChange", change(URI, self.version, edit))
        self.text += text

    def delete(self, count: int) -> None:
        self.version += 1
        edit = (0, self.column - count, 0, self.column, "")
        self.wire.notify("textDocument/didChange", change(URI, self.version, edit))
        self.text = self.text[:-count]

    def ask(self, **context: Any) -> int:
        return self.wire.ask(INLINE, at(URI, 0, self.column, **context))

    def complete(self, **context: Any) -> Any:
        return self.wire.result(self.ask(**context))


def texts(items: Any) -> list[str]:
    return [item["insertText"] for item in items]


def heard(wire: Wire) -> None:
    """Wait until the server has what the model has written so far: it reads in order."""
    wire.call("workspace/executeCommand", {"command": "velospec.status"})


def test_typing_along_what_is_being_written_waits_for_it(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value(1)", "head": "val", "wait": True}})
    typist = Typist(wire, "x = ")
    older = typist.ask()
    answers.wait_for("head")
    heard(wire)
    typist.type("v")
    newer = typist.ask()
    assert wire.result(older) is None
    typist.type("a")
    newest = typist.ask()
    assert wire.result(newer) is None
    answers.touch("go")
    [item] = wire.result(newest)
    assert (item["insertText"], item["range"]["start"]["character"]) == ("value(1)", 4)
    assert (len(answers.log()), answers.log("cancelled")) == (1, [])


def test_typing_something_else_stops_what_is_being_written(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value(1)", "head": "val", "wait": True}, "x = o": "ther"})
    typist = Typist(wire, "x = ")
    older = typist.ask()
    answers.wait_for("head")
    heard(wire)
    typist.type("o")
    answers.wait_for("cancelled")  # at the key, before anything else is asked
    assert wire.result(older) is None
    assert texts(typist.complete()) == ["ther"]


def test_a_late_answer_is_kept_for_the_text_by_then(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value(1)", "head": "val", "wait": True}})
    typist = Typist(wire, "x = ")
    older = typist.ask()
    answers.wait_for("head")
    heard(wire)
    # As VS Code does: the change, the cancelling of the request for the text before, and a pause.
    typist.type("v")
    wire.notify("$/cancelRequest", {"id": older})
    assert wire.reply(older)["error"]["code"] == -32800
    answers.touch("go")
    heard(wire)
    assert texts(typist.complete()) == ["value(1)"]
    assert (len(answers.log()), answers.log("cancelled")) == (1, [])


def test_an_answer_for_a_text_that_was_changed_meanwhile_is_null(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value(1)", "head": "val", "wait": True}})
    typist = Typist(wire, "x = ")
    older = typist.ask()
    answers.wait_for("head")
    heard(wire)
    typist.type("v")
    heard(wire)
    answers.touch("go")
    assert wire.result(older) is None
    assert texts(typist.complete()) == ["value(1)"]
    assert len(answers.log()) == 1


def test_brackets_that_the_editor_closes_and_types_over(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": 'f("a", b)\ny = 1'})
    typist = Typist(wire, "x = ")
    first = typist.complete()[0]
    typed = [("f", ""), ("(", ")"), ('"', '"'), ("a", ""), ('"', None), (",", ""), (" b", ""), (")", None)]
    behind = 0  # closers
    for text, closer in typed:
        if closer is None:  # typed over: the editor replaces the closer by itself
            behind -= 1
            typist.version += 1
            edit = (0, typist.column, 0, typist.column + 1, text)
            wire.notify("textDocument/didChange", change(URI, typist.version, edit))
            typist.text += text
        else:
            behind += len(closer)
            typist.type(text, closer)
        [item, *_] = typist.complete()
        assert item["insertText"] == first["insertText"]
        assert item["range"] == {
            "start": {"line": 0, "character": 4},
            "end": {"line": 0, "character": typist.column + behind},
        }
    assert len(answers.log()) == 1


def test_deleting_back_to_a_place_offered_before(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)"})
    typist = Typist(wire, "x = ")
    [first] = typist.complete()
    typist.type("vak")
    assert typist.complete() == []
    typist.delete(1)
    [item] = typist.complete()
    assert item["insertText"] == first["insertText"]
    typist.delete(2)
    assert typist.complete() == [first]
    assert [entry["prefix"] for entry in answers.log()] == ["x = ", "x = vak"]


def test_what_the_time_cut_off_is_no_answer_to_a_request_by_hand(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": {"text": "value", "finish": "deadline"}})
    typist = Typist(wire, "x = ")
    assert texts(typist.complete()) == ["value"]
    answers.write({"x = ": "value(1)"})
    assert texts(typist.complete()) == ["value"]
    assert texts(typist.complete(triggerKind=1))[0] == "value(1)"
    assert texts(typist.complete())[0] == "value(1)"


def test_a_popups_entry_is_typed_through_and_waited_for_too(
    start: Callable[..., Wire], answers: Answers
) -> None:
    wire = start()
    wire.initialize({"textDocument": {}})
    answers.write({"x = ": {"text": "value(1)", "head": "val", "wait": True}})
    typist = Typist(wire, "x = ")

    def ask() -> int:
        place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": typist.column}}
        return wire.ask("textDocument/completion", place)

    older = ask()
    answers.wait_for("head")
    heard(wire)
    typist.type("v")
    newer = ask()
    assert wire.result(older) is None
    answers.touch("go")
    [item] = wire.result(newer)["items"]
    assert item["textEdit"]["newText"] == "value(1)"
    typist.type("a")
    [item] = wire.result(ask())["items"]
    assert item["textEdit"]["newText"] == "value(1)"
    assert (len(answers.log()), answers.log("cancelled")) == (1, [])
