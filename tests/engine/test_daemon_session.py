"""Connections: hellos, malformed frames, clients that misbehave."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.daemon_harness import BUILD, ask, outcome, run, served, wire
from velospec.core.request import TextRequest
from velospec.daemon import protocol as p
from velospec.daemon import session

HELLO = p.Hello(p.PROTOCOL, BUILD, "raw", 1)


pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("hello", "verdict"),
    [
        (HELLO, "accepted"),
        (p.Hello(p.PROTOCOL, "0.9.0+1", "older", 1), "accepted"),
        (p.Hello(p.PROTOCOL - 1, "0.9.0+1", "older", 1), "incompatible"),
        (p.Hello(p.PROTOCOL + 1, "1.1.0+1", "newer", 1), "retiring"),
        (p.Hello(p.PROTOCOL, BUILD, "stranger", 1, "guess"), "denied"),
    ],
)
def test_what_becomes_of_a_hello(hello: p.Hello, verdict: str) -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint) as raw:
            raw.send(hello)
            welcome = await raw.receive()
            assert isinstance(welcome, p.Welcome)
            assert welcome.verdict == verdict
            if verdict != "accepted":
                assert await raw.receive() is None
            assert box.server._leaving.is_set() is (verdict == "retiring")

    run(test())


def test_a_busy_daemon_does_not_retire() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            task = asyncio.create_task(outcome(client.infill(ask("wait never"))))
            await box.until(lambda: box.script.steps["wait never"] > 0)
            async with wire(box.endpoint) as raw:
                raw.send(p.Hello(p.PROTOCOL, "1.1.0+1", "newer", 1))
                welcome = await raw.receive()
                assert isinstance(welcome, p.Welcome)
                assert welcome.verdict is p.Verdict.BUSY
            await client.close()
            assert await task == "daemon"

    run(test())


def test_malformed_requests_are_answered_and_the_connection_lives_on() -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw:
            bad = p.encode(p.Status(7)).replace(b"status", b"stetus")
            for frame, number in ((bad, 7), (b"\0\0\0\x01\xc1", None), (p.Goodbye("no"), None)):
                raw.send(frame)
                answer = await raw.receive()
                assert isinstance(answer, p.Failure)
                assert (answer.code, answer.id) == ("protocol", number)
            raw.send(p.Status(8))
            assert isinstance(await raw.receive(), p.Result)

    run(test())


def test_what_comes_before_hello_ends_the_connection() -> None:
    async def test() -> None:
        async with served() as box:
            for first in (p.Status(1), b"\0\0\0\x02{}", b"\x7f\xff\xff\xff"):
                async with wire(box.endpoint) as raw:
                    raw.send(first)
                    assert isinstance(await raw.receive(), p.Failure)
                    assert await raw.receive() is None

    run(test())


def test_an_id_under_way_is_not_taken_twice() -> None:
    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw:
            raw.send(p.Infill(1, ask("wait gate")))
            await box.until(lambda: box.script.steps["wait gate"] > 0)
            raw.send(p.Infill(1, ask("say twice", "other")))
            answer = await raw.receive()
            while isinstance(answer, p.Event):
                answer = await raw.receive()
            assert answer == p.Failure("protocol", "A request with this id is under way.", "", 1)

    run(test())


def test_a_client_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_UNREAD", 1 << 14)

    async def test() -> None:
        async with served() as box, wire(box.endpoint, HELLO) as raw, box.client() as reader:
            await reader.status()
            for number in range(200):
                raw.send(p.Generate(number, TextRequest(f"d{number}", "say " + "x" * 1000), stream=True))
            await box.until(lambda: len(box.server._sessions) == 1)
            assert (await reader.infill(ask("say fine"))).text == "fine"

    run(test())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200) | st.sampled_from(["hello", "status"]), max_size=6), st.booleans())
def test_no_bytes_harm_the_server(pieces: list[bytes | str], framed: bool) -> None:
    async def test() -> None:
        async with served() as box:
            async with wire(box.endpoint) as raw:
                for piece in pieces:
                    if isinstance(piece, str):
                        raw.send(HELLO if piece == "hello" else p.Status(1))
                    else:
                        raw.send(len(piece).to_bytes(4, "big") + piece if framed else piece)
            async with box.client() as client:
                assert (await client.status())["build"] == BUILD

    run(test())
