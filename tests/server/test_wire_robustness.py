"""The installed command, spoken to in bytes: malformed, untimely and plentiful input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import Wire, at, change, frame, notification, request

URI = "file:///project/example.py"
INLINE = "textDocument/inlineCompletion"
CHANGE = "textDocument/didChange"


def serves(wire: Wire) -> bool:
    wire.open(URI, "x")
    return wire.complete(URI, 0, 1) == []


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"textDocument": {"uri": URI}},
        {"textDocument": {"uri": URI}, "position": {"line": "1", "character": None}, "context": {}},
        {"textDocument": URI, "position": {"line": 0, "character": 0}, "context": {"triggerKind": 2}},
    ],
)
def test_malformed_parameters_get_a_reply(wire: Wire, params: Any) -> None:
    reply = wire.reply(wire.ask(INLINE, params))
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"] == f"The parameters of {INLINE} are malformed."
    assert serves(wire)


def test_malformed_messages_get_a_reply_and_the_server_goes_on(wire: Wire) -> None:
    for body, identity, code in [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b'{"jsonrpc": "1.0", "id": 7001, "method": "x"}', 7001, -32600),
        (b'{"jsonrpc": "2.0", "id": 7002}', 7002, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "x"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 7003, "method": 5}', 7003, -32600),
    ]:
        wire.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert wire.reply(identity)["error"]["code"] == code
    assert wire.reply(wire.ask("velospec/noSuchMethod"))["error"]["code"] == -32601
    assert serves(wire)


def test_malformed_notifications_are_ignored(wire: Wire) -> None:
    wire.open(URI, "text")
    for params in (None, [], {"textDocument": {"uri": URI}}, change(URI, 2) | {"contentChanges": [5]}):
        wire.notify(CHANGE, params)
    wire.notify("$/noSuchNotification", {})
    wire.notify("$/cancelRequest", {"id": 123_456})
    wire.notify(CHANGE, change("file:///not-open.py", 2, (0, 0, 0, 0, "x")))
    wire.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not-open.py"}})
    assert serves(wire)


def test_out_of_range_edits_are_clamped(wire: Wire, answers: Answers) -> None:
    wire.open(URI, "abc")
    wire.notify(CHANGE, change(URI, 2, (0, 99, 7, 3, "X"), (9, 9, 9, 9, "\nY")))
    wire.complete(URI, 1, 1, triggerKind=1)
    assert answers.log()[-1]["prefix"] == "abcX\nY"


def test_headers_as_other_clients_write_them(wire: Wire) -> None:
    body = frame(request(900, INLINE, at(URI, 0, 0))).partition(b"\r\n\r\n")[2]
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    wire.write(b"%scontent-length:%d\r\n\r\n%s" % (kind, len(body), body))
    assert wire.result(900) == []


def test_a_message_in_many_pieces(wire: Wire) -> None:
    for octet in frame(request(901, INLINE, at(URI, 0, 0))):
        wire.write(bytes([octet]))
    assert wire.result(901) == []


def test_what_comes_too_early_or_too_late_is_refused(start: Callable[..., Wire]) -> None:
    wire = start()
    wire.notify("textDocument/didOpen", {})
    assert wire.reply(wire.ask(INLINE, at(URI, 0, 0)))["error"]["code"] == -32002
    wire.initialize()
    assert (
        wire.reply(wire.ask("initialize", {"capabilities": {}, "processId": None}))["error"]["code"] == -32600
    )
    assert wire.call("shutdown") is None
    assert wire.reply(wire.ask(INLINE, at(URI, 0, 0)))["error"]["code"] == -32600
    wire.notify("exit")
    assert wire.process.wait(30) == 0


def test_a_flood_of_messages_in_one_write(wire: Wire, answers: Answers) -> None:
    answers.write({"x" * 200: "done"})
    wire.open(URI, "")
    numbers = [wire.number() for _ in range(200)]
    data = b""
    for index, number in enumerate(numbers):
        data += frame(notification(CHANGE, change(URI, index + 2, (0, index, 0, index, "x"))))
        data += frame(request(number, INLINE, at(URI, 0, index + 1)))
    wire.write(data)
    results = [wire.result(number) for number in numbers]
    assert [item["insertText"] for item in results[-1]] == ["done"]
    assert all(result in (None, []) for result in results[:-1])
