"""The edit commands in bytes: what ends them early, and where they are offered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.edit_desk import Desk
from tests.support.edit_wire import (
    APPLY,
    CODE,
    EDITING,
    EXECUTE,
    REWRITE,
    URI,
    actions,
    at,
    carry_out,
    order,
    refused,
    wait_for,
)
from tests.support.wire import Wire, change


def test_what_is_kept_from_the_model_is_not_edited(editor: Wire, desk: Desk) -> None:
    uri = "file:///project/.env"
    editor.open(uri, "A=1\n", "sh")
    reason = refused(editor, order(editor, "edit", at(0, 0), "Do it", uri))
    assert reason.startswith("The file is kept from the model")
    assert desk.log() == []


def test_without_instruction_or_document(editor: Wire, desk: Desk) -> None:
    editor.open(URI, CODE)
    assert refused(editor, order(editor, "edit", at(0, 0), " ")) == "There is no instruction: say what to do."
    number = order(editor, "edit", at(0, 0), "Do it", "file:///project/other.py")
    assert refused(editor, number) == "No such document is open."
    assert desk.log() == []


@pytest.mark.parametrize("given", [[], [None], [{"uri": URI}], [{"uri": URI, "range": {"start": 1}}]])
def test_malformed_arguments(editor: Wire, given: list[Any]) -> None:
    reply = editor.reply(editor.ask(EXECUTE, {"command": "velospec.edit", "arguments": given}))
    assert reply["error"]["code"] == -32602


def test_a_change_meanwhile_ends_it(editor: Wire, desk: Desk) -> None:
    desk.answer(REWRITE, "", wait=True)
    editor.open(URI, CODE)
    number = order(editor, "edit", at(1, 4), "Do it")
    wait_for(desk, "generate")
    editor.notify("textDocument/didChange", change(URI, 2, (0, 0, 0, 0, "")))  # changes nothing
    editor.notify("textDocument/didChange", change(URI, 3, (0, 0, 0, 0, "#")))
    assert refused(editor, number) == "The document was changed meanwhile."
    wait_for(desk, "cancelled")


def test_a_newer_edit_takes_the_place(editor: Wire, desk: Desk) -> None:
    desk.answer("First.", "", wait=True)
    desk.call("Second.", "replace", code="result = 1")
    editor.open(URI, CODE)
    first = order(editor, "edit", at(1, 4), "First")
    wait_for(desk, "generate")
    second = order(editor, "edit", at(1, 4), "Second")
    result = editor.result(first)
    assert result["applied"] is False
    assert result["reason"].startswith("A newer edit of this document took this one's place")
    carry_out(editor, CODE)
    assert editor.result(second)["applied"] is True


@pytest.mark.parametrize("how", ["progress", "request", "close"])
def test_it_is_cancelled(editor: Wire, desk: Desk, how: str) -> None:
    desk.answer(REWRITE, "", wait=True)
    editor.open(URI, CODE)
    number = order(editor, "edit", at(1, 4), "Do it")
    begun = editor.notification("$/progress")
    assert (begun["value"]["kind"], begun["value"]["cancellable"]) == ("begin", True)
    wait_for(desk, "generate")
    if how == "progress":
        editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        assert editor.result(number)["reason"] == "It was cancelled."
    elif how == "request":
        editor.notify("$/cancelRequest", {"id": number})
        assert editor.reply(number)["error"]["code"] == -32800
    else:
        editor.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        editor.opened.discard(URI)
        assert editor.result(number)["applied"] is False
    wait_for(desk, "cancelled")


def test_an_editor_that_says_no_or_does_nothing(editor: Wire, desk: Desk) -> None:
    desk.call(REWRITE, "replace", code="result = 1")
    editor.open(URI, CODE)
    for answer, reason in (
        (
            {"applied": False, "failureReason": "It is read-only."},
            "The editor did not make the edit: It is read-only.",
        ),
        ({"applied": True}, "The editor did not make the edit: the document is as it was."),
    ):
        number = order(editor, "edit", at(1, 4), "Do it")
        asked = editor.take(lambda it: it.get("method") == APPLY)
        editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
        assert refused(editor, number) == reason


def test_an_editor_without_versions_gets_plain_changes(desk: Desk) -> None:
    desk.call(REWRITE, "replace", code="result = 1")
    wire = Wire(desk.environment)
    wire.initialize({"workspace": {"applyEdit": True}})
    wire.open(URI, CODE)
    number = order(wire, "edit", at(1, 4), "Do it")
    asked = wire.take(lambda it: it.get("method") == APPLY)
    [edit] = asked["params"]["edit"]["changes"][URI]
    wire.notify("textDocument/didChange", change(URI, 2, (1, 0, 1, 14, edit["newText"])))
    wire.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
    assert wire.result(number)["applied"] is True
    wire.close()


def test_an_editor_that_takes_no_edits(desk: Desk) -> None:
    wire = Wire(desk.environment)
    wire.initialize()
    wire.open(URI, CODE)
    assert refused(wire, order(wire, "edit", at(1, 4), "Do it")) == "The editor takes no edits from a server."
    wire.close()


def test_without_a_chat_model_the_remedy_is_told(editor: Wire, desk: Desk) -> None:
    folder = desk.home / "data" / "models" / "talker"
    editor.open(URI, CODE)
    folder.rename(folder.with_name(".away"))
    try:
        reason = refused(editor, order(editor, "edit", at(1, 4), "Do it"))
        assert actions(editor, at(1, 4)) == []
    finally:
        folder.with_name(".away").rename(folder)
    assert reason == ("No chat model is installed. Install one: velospec model install smollm2-135m-instruct")


def test_actions_are_offered_where_they_can_do_something(desk: Desk) -> None:
    wire = Wire(desk.environment)
    literals = {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}
    capabilities = wire.initialize({**EDITING, "textDocument": literals})
    assert capabilities["codeActionProvider"]["codeActionKinds"] == [
        "refactor.rewrite",
        "refactor",
        "quickfix",
    ]
    wire.open(URI, CODE + "\nx = 1\n")
    where = at(1, 6)
    offered = actions(wire, where)
    assert [(it["title"], it["kind"], it["command"]["command"]) for it in offered] == [
        ("VeloSpec: Document total", "refactor.rewrite", "velospec.docstring"),
        ("VeloSpec: Find a better name for result", "refactor", "velospec.rename-suggest"),
    ]
    assert offered[0]["command"]["arguments"] == [{"uri": URI, "range": where}]
    assert [it["kind"] for it in actions(wire, where, only=["refactor.rewrite"])] == ["refactor.rewrite"]
    assert [it["kind"] for it in actions(wire, where, only=["refactor"])] == ["refactor.rewrite", "refactor"]
    assert actions(wire, where, only=["source"]) == []
    assert [it["title"] for it in actions(wire, at(6, 4))] == []
    assert [it["title"] for it in actions(wire, at(6, 0, 6, 5))][:2] == [
        "VeloSpec: Simplify",
        "VeloSpec: Handle errors",
    ]
    wire.close()


def test_a_diagnostic_becomes_an_instruction(editor: Wire, desk: Desk) -> None:
    editor.open(URI, CODE)
    problem = {"range": at(3, 8, 3, 14), "message": "Undefined name: result\nSee the manual."}
    [command, *_] = actions(editor, at(3, 8), diagnostics=[problem])
    assert command["title"] == "VeloSpec: Fix: Undefined name: result"  # this client takes commands only
    desk.call("Fix this problem: Undefined name: result See the manual.", "replace", code="result = 1")
    number = editor.ask(EXECUTE, {"command": command["command"], "arguments": command["arguments"]})
    assert carry_out(editor, CODE) == CODE.replace("result += item.price", "result = 1")
    assert editor.result(number)["applied"] is True
