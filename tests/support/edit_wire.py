"""The edit commands over the wire: what a test sends, and what an editor does with the edits that come."""

from __future__ import annotations

import time
from typing import Any

from tests.support.edit_desk import Desk
from tests.support.wire import WITH_INLINE, Message, Wire

URI = "file:///project/example.py"
CODE = """\
def total(items):
    result = 0
    for item in items:
        result += item.price
    return result
"""
EXECUTE, APPLY, SHOW = "workspace/executeCommand", "workspace/applyEdit", "window/showMessage"
EDITING: Message = {
    **WITH_INLINE,
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-16"]},
}
NAMES = "better names"
REWRITE = "Rewrite"
DOCUMENT = "What does the"


def at(line: int, character: int, end_line: int | None = None, end: int | None = None) -> Message:
    first = {"line": line, "character": character}
    last = first if end_line is None else {"line": end_line, "character": end}
    return {"start": first, "end": last}


def order(wire: Wire, command: str, where: Message, instruction: str | None = None, uri: str = URI) -> int:
    given: Message = {"uri": uri, "range": where}
    if instruction is not None:
        given["instruction"] = instruction
    return wire.ask(EXECUTE, {"command": f"velospec.{command}", "arguments": [given]})


def carry_out(wire: Wire, text: str, *, version: int = 2, uri: str = URI) -> str:
    """Does as an editor: makes the edit that the server asks for, and tells of it; returns the new text."""
    asked = wire.take(lambda it: it.get("method") == APPLY)
    [edited] = asked["params"]["edit"]["documentChanges"]
    assert edited["textDocument"] == {"uri": uri, "version": version - 1}
    new = applied(text, edited["edits"])
    whole = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": new}]}
    wire.notify("textDocument/didChange", whole)
    wire.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
    return new


def applied(text: str, edits: list[Message]) -> str:
    """`text` with `edits`, whose columns are UTF-16 units."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda it: list(it["range"]["start"].values()), reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        cut = [part.encode("utf-16-le") for part in (lines[start["line"]], lines[end["line"]])]
        head = cut[0][: 2 * start["character"]].decode("utf-16-le")
        tail = cut[1][2 * end["character"] :].decode("utf-16-le")
        lines[start["line"] : end["line"] + 1] = (head + edit["newText"] + tail).split("\n")
    return "\n".join(lines)


def refused(wire: Wire, number: int) -> str:
    """The reason of a command that changed nothing; it is shown too, once."""
    result = wire.result(number)
    assert result["applied"] is False
    assert result["reason"] == result["text"]
    shown = wire.notification(SHOW)
    assert shown == {"type": 2, "message": f"VeloSpec: {result['reason']}"}
    return str(result["reason"])


def actions(wire: Wire, where: Message, **context: Any) -> list[Message]:
    given = {"textDocument": {"uri": URI}, "range": where, "context": {"diagnostics": [], **context}}
    return list(wire.call("textDocument/codeAction", given))


def wait_for(desk: Desk, event: str) -> None:
    until = time.monotonic() + 30
    while not desk.log(event):
        assert time.monotonic() < until, f"the daemon logged no {event}"
        time.sleep(0.005)
