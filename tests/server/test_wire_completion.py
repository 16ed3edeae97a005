"""The installed command, spoken to in bytes: what a completion looks like on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Wire, at, change, frame, notification, request

URI = "file:///project/example.py"
INLINE = "textDocument/inlineCompletion"


def range_of(line: int, start: int, end: int) -> dict[str, object]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def encodings(*names: str) -> dict[str, object]:
    return {**WITH_INLINE, "general": {"positionEncodings": list(names)}}


def test_an_item_has_range_text_and_command(wire: Wire, answers: Answers) -> None:
    answers.write({"return a": " + b"})
    wire.open(URI, "def add(a, b):\n    return a\n")
    [item] = wire.complete(URI, 1, 12)
    [identity] = item["command"].pop("arguments")
    assert re.fullmatch(r"v\d+", identity)
    assert item == {
        "insertText": " + b",
        "range": range_of(1, 12, 12),
        "command": {"title": "Accepted", "command": "velospec.accepted"},
    }
    item["command"]["arguments"] = [identity]
    assert wire.call("workspace/executeCommand", item["command"]) is None
    [asked] = answers.log()
    assert (asked["prefix"], asked["suffix"]) == ("def add(a, b):\n    return a", "\n")
    assert (asked["path"], asked["document"], asked["max_lines"]) == ("example.py", URI, 1)


def test_capabilities(start: Callable[..., Wire]) -> None:
    capabilities = start().initialize(encodings("utf-8", "utf-16"))
    assert capabilities["inlineCompletionProvider"] == {}
    assert "completionProvider" not in capabilities
    assert capabilities["positionEncoding"] == "utf-8"
    assert capabilities["textDocumentSync"]["change"] == 2
    assert sorted(capabilities["executeCommandProvider"]["commands"]) == [
        "velospec.accepted",
        "velospec.docstring",
        "velospec.edit",
        "velospec.rename-suggest",
        "velospec.restart",
        "velospec.status",
        "velospec.why",
        *(f"velospec.workspace.{name}" for name in ("export", "forget", "show", "stats")),
    ]


@pytest.mark.parametrize(
    ("offered", "column", "chosen"),
    [(["utf-8"], 7, "utf-8"), (None, 5, "utf-16"), (["utf-32", "utf-16"], 4, "utf-32"), (["x"], 5, "utf-16")],
)
def test_columns_count_in_the_encoding_agreed_on(
    start: Callable[..., Wire], answers: Answers, offered: list[str] | None, column: int, chosen: str
) -> None:
    wire = start()
    capabilities = wire.initialize(encodings(*offered) if offered else None)
    assert capabilities["positionEncoding"] == chosen
    answers.write({"é😋a=": "1"})
    wire.open(URI, "é😋a=\n" if chosen != "utf-8" else "é😋a\n")
    if chosen == "utf-8":
        wire.notify("textDocument/didChange", change(URI, 2, (0, column, 0, column, "=")))
        column += 1
    [item] = wire.complete(URI, 0, column)
    assert item["range"] == range_of(0, column, column)


def test_half_a_surrogate_pair_is_clamped(wire: Wire, answers: Answers) -> None:
    answers.write({"x": "y"})
    wire.open(URI, "x😋\n")
    [item] = wire.complete(URI, 0, 2, triggerKind=1)
    assert item["range"] == range_of(0, 1, 1)
    wire.notify("textDocument/didChange", change(URI, 2, (0, 3, 0, 3, "\ud83d")))
    assert wire.complete(URI, 0, 4) == []
    assert answers.log()[-1]["prefix"] == "x😋\ufffd"


@pytest.mark.parametrize("separator", ["\x0c", "\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_odd_separators_end_no_line(wire: Wire, answers: Answers, separator: str) -> None:
    answers.write({"x = ": "1"})
    wire.open(URI, f"a{separator}b\npass\n")
    wire.notify("textDocument/didChange", change(URI, 2, (1, 0, 1, 4, "x = ")))
    [item] = wire.complete(URI, 1, 4)
    assert item["insertText"] == "1"
    assert answers.log()[-1]["prefix"] == f"a{separator}b\nx = "


def test_crlf_goes_in_and_line_feeds_come_out(wire: Wire, answers: Answers) -> None:
    answers.write({"x:": "\n    pass\n    pass"})
    wire.open(URI, "a\r\nif x:\r\n\r\nb\rc\r\n")
    [item] = wire.complete(URI, 1, 5)
    assert item["insertText"] == "\n    pass\n    pass"
    [asked] = answers.log()
    assert (asked["prefix"], asked["suffix"]) == ("a\nif x:", "\n\nb\nc\n")


@pytest.mark.parametrize("tcp", [False, True])
def test_a_request_sees_the_text_it_was_sent_with(
    start: Callable[..., Wire],
    answers: Answers,
    tcp: bool,
) -> None:
    wire = start(tcp=tcp)
    wire.initialize()
    answers.write({"old": "er", "new": "er"})
    wire.open(URI, "old")
    number = wire.number()
    together = [
        request(number, INLINE, at(URI, 0, 3)),
        notification("textDocument/didChange", change(URI, 2, (0, 0, 0, 3, "new"))),
    ]
    wire.write(b"".join(map(frame, together)))
    # It is completed, if at all, at the text it was sent with; but by now that is another one.
    assert wire.result(number) is None
    [item] = wire.complete(URI, 0, 3)
    assert item["range"] == range_of(0, 3, 3)
    assert [entry["prefix"] for entry in answers.log() if entry["prefix"] != "old"] == ["new"]


def test_a_cancelled_request_is_answered_at_once_and_the_decode_stops(wire: Wire, answers: Answers) -> None:
    answers.write({"slow": {"text": "never", "wait": True}})
    wire.open(URI, "slow")
    number = wire.ask(INLINE, at(URI, 0, 4))
    answers.wait_for("infill")
    wire.notify("$/cancelRequest", {"id": number})
    assert wire.reply(number)["error"]["code"] == -32800
    assert [entry["prefix"] for entry in answers.wait_for("cancelled")] == ["slow"]


def test_a_superseded_request_is_answered_null_when_the_newer_one_arrives(
    wire: Wire, answers: Answers
) -> None:
    answers.write({"slow": {"text": "never", "wait": True}, "slower": {"text": "too", "wait": True}})
    wire.open(URI, "slow")
    older = wire.ask(INLINE, at(URI, 0, 4))
    answers.wait_for("infill")
    wire.notify("textDocument/didChange", change(URI, 2, (0, 4, 0, 4, "er")))
    newer = wire.ask(INLINE, at(URI, 0, 6))
    assert wire.result(older) is None
    answers.wait_for("cancelled")
    answers.touch("go")
    [item] = wire.result(newer)
    assert item["insertText"] == "too"


def test_the_same_place_asked_twice_is_decoded_once(wire: Wire, answers: Answers) -> None:
    answers.write({"slow": {"text": " text", "wait": True}})
    wire.open(URI, "slow")
    older = wire.ask(INLINE, at(URI, 0, 4))
    newer = wire.ask(INLINE, at(URI, 0, 4))
    assert wire.result(older) is None
    answers.touch("go")
    assert [item["insertText"] for item in wire.result(newer)] == [" text"]
    assert len(answers.log()) == 1


def test_documents_do_not_supersede_each_other(wire: Wire, answers: Answers) -> None:
    answers.write({"slow": {"text": " text", "wait": True}, "fast": " text"})
    other = "file:///project/other.py"
    wire.open(URI, "slow")
    wire.open(other, "fast")
    older = wire.ask(INLINE, at(URI, 0, 4))
    newer = wire.ask(INLINE, at(other, 0, 4))
    answers.touch("go")
    assert len(wire.result(older)) == 1
    assert len(wire.result(newer)) == 1


def test_typing_along_is_answered_without_the_model(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "value(1)"})
    wire.open(URI, "x = \n")
    [first] = wire.complete(URI, 0, 4)
    for count, char in enumerate("val", 1):
        wire.notify("textDocument/didChange", change(URI, 1 + count, (0, 3 + count, 0, 3 + count, char)))
        [item] = wire.complete(URI, 0, 4 + count)
        # The same start and the same text: an editor sees that it is the same item.
        assert item == {**first, "range": range_of(0, 4, 4 + count)}
    assert len(answers.log()) == 1


def test_closers_of_the_editor_are_replaced_and_real_text_is_not(wire: Wire, answers: Answers) -> None:
    answers.write({"print(": "x)", "sum(": "map(f, y)", "f(": "a, b"})
    wire.open(URI, "print()\nsum()\nf() + 1\nif x:")
    [item] = wire.complete(URI, 0, 6)
    assert (item["insertText"], item["range"]) == ("x)", range_of(0, 6, 7))
    [item] = wire.complete(URI, 1, 4)
    assert (item["insertText"], item["range"]) == ("map(f, y)", range_of(1, 4, 4))
    assert wire.complete(URI, 2, 2) == []
    [item] = wire.complete(URI, 2, 2, triggerKind=1)
    assert (item["insertText"], item["range"]) == ("a, b", range_of(2, 2, 2))
    wire.complete(URI, 3, 5)
    assert [entry["max_lines"] for entry in answers.log()] == [1, 1, 1, 12]


def test_the_popups_selection_is_completed(wire: Wire, answers: Answers) -> None:
    answers.write({"os.path": ".join(a)"})
    wire.open(URI, "os.pa\n")
    selected = {"range": range_of(0, 3, 5), "text": "path"}
    [item] = wire.complete(URI, 0, 5, selectedCompletionInfo=selected)
    assert (item["insertText"], item["range"]) == ("path.join(a)", range_of(0, 3, 5))
    elsewhere = {"range": range_of(1, 0, 0), "text": "path"}
    assert wire.complete(URI, 0, 5, selectedCompletionInfo=elsewhere) == []


def test_a_prompt_that_takes_all_of_the_budget_is_gone_on_with(wire: Wire, answers: Answers) -> None:
    answers.write({"x": {"text": "", "finish": "deadline"}, "y": {"text": "z", "finish": "deadline"}})
    wire.open(URI, "x")
    assert wire.complete(URI, 0, 1) == []
    assert [entry["budget_ms"] for entry in answers.log()] == [1500, 5000]
    why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [URI]})
    assert why["text"].startswith("The time budget ran out before the model had written anything")
    assert wire.complete(URI, 0, 1, triggerKind=1) == []
    wire.open(URI, "y")
    assert [item["insertText"] for item in wire.complete(URI, 0, 1)] == ["z"]
    assert [entry["budget_ms"] for entry in answers.log()] == [1500, 5000, 5000, 1500]


@pytest.mark.parametrize("finish", ["deadline", "length", "lines"])
def test_of_several_lines_only_whole_ones_are_offered(wire: Wire, answers: Answers, finish: str) -> None:
    cut = {text: {"text": text, "finish": finish} for text in ("one\ntwo\nth", "\n  o", "o")}
    answers.write({"a": cut["one\ntwo\nth"], "b": cut["\n  o"], "c": cut["o"]})
    wire.open(URI, "a\nb\nc")
    offered = [wire.complete(URI, line, 1)[0]["insertText"] for line in range(3)]
    whole = "one\ntwo\nth" if finish == "lines" else "one\ntwo"
    assert offered == [whole, "\n  o", "o"]


def test_nothing_to_offer_is_an_empty_list(wire: Wire, answers: Answers) -> None:
    wire.open(URI, "x = 1\n")
    assert wire.complete(URI, 0, 5) == []
    assert wire.complete("file:///unknown.py", 0, 0) == []
    assert wire.complete(URI, 99, 99) == []
    why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [URI]})
    assert (why["reason"], why["stage"]) == ("The model has nothing to add here.", "filters")
    assert next(stage["note"] for stage in why["stages"] if stage["stage"] == "extent") == "a block"
    assert why["text"].startswith(why["reason"])
    stages = [entry["stage"] for entry in why["stages"]]
    assert stages == [
        "gate",
        "site",
        "cache",
        "running",
        "trigger",
        "extent",
        "schema",
        "context",
        "model",
        "filters",
    ]


def test_clients_without_inline_completion_get_one_popup_entry(
    start: Callable[..., Wire], answers: Answers
) -> None:
    wire = start()
    capabilities = wire.initialize({"textDocument": {}})
    assert capabilities["completionProvider"]["triggerCharacters"]
    answers.write({"return val": "ue + 1\n    more"})
    wire.open(URI, "    return val\n")
    position = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 14}}
    result = wire.call("textDocument/completion", position)
    assert result["isIncomplete"] is True
    [item] = result["items"]
    assert item["label"] == "value + 1 …"
    assert item["filterText"] == "value + 1"
    assert item["textEdit"] == {"range": range_of(0, 11, 14), "newText": "value + 1\n    more"}
    assert item["command"]["command"] == "velospec.accepted"


@pytest.mark.parametrize(("setting", "popup"), [("always", True), ("never", False), ("auto", False)])
def test_the_popup_can_be_had_and_refused(start: Callable[..., Wire], setting: str, popup: bool) -> None:
    capabilities = start().initialize(options={"completion": setting})
    assert ("completionProvider" in capabilities) is popup


def test_after_one_deletion_nothing_is_asked_for(wire: Wire, answers: Answers) -> None:
    answers.write({"return v": "alue"})
    wire.open(URI, "return va\n")
    wire.notify("textDocument/didChange", change(URI, 2, (0, 8, 0, 9, "")))
    assert wire.complete(URI, 0, 8) == []
    assert answers.log() == []
    why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [URI]})
    assert (why["stage"], why["reason"].partition(";")[0]) == ("trigger", "A character was just deleted")
    [item] = wire.complete(URI, 0, 8, triggerKind=1)
    assert item["insertText"] == "alue"


def test_what_was_not_shown_is_not_asked_for_again_while_it_is_typed(wire: Wire, answers: Answers) -> None:
    answers.write({"x = ": "same", "x = so": "me"})
    wire.open(URI, "x = \nx = same\n")
    assert wire.complete(URI, 0, 4) == []  # the next line says it already
    wire.notify("textDocument/didChange", change(URI, 2, (0, 4, 0, 4, "s")))
    assert wire.complete(URI, 0, 5) == []
    assert len(answers.log()) == 1
    why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [URI]})
    assert why["model"] == {}
    wire.notify("textDocument/didChange", change(URI, 3, (0, 5, 0, 5, "o")))
    assert [item["insertText"] for item in wire.complete(URI, 0, 6)] == ["me"]
    assert len(answers.log()) == 2
