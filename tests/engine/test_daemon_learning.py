"""Workspaces taught through the daemon's server: taken in, told, forgotten, and read in pauses."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.daemon_harness import ask, run, served
from velospec.core.errors import ProtocolError, SettingsError
from velospec.core.learning import Feedback, Lesson, Reception, TextChange
from velospec.daemon import learning_frames as f
from velospec.daemon import protocol as p
from velospec.learning.workspace.documents import digest

pytestmark = pytest.mark.usefixtures("home")

FIRST = Lesson("/w", "file:///w/a.py", 1, "one\ntwo\n", path="a.py", relevance=9)


def change(base: int, *changes: TextChange) -> Lesson:
    return Lesson("/w", FIRST.document, base + 1, base=base, changes=changes)


def test_what_is_taught_is_known_by_its_digest_and_changes_follow_each_other() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            assert await client.learn(FIRST)
            assert await client.known("/w") == {FIRST.document: digest("one\ntwo\n")}
            assert await client.learn(change(1, TextChange(0, 3, "1"), TextChange(1, 1, "st")))
            assert await client.known("/w") == {FIRST.document: digest("1st\ntwo\n")}
            assert not await client.learn(change(1, TextChange(0, 0, "x")))
            assert not await client.learn(change(2, TextChange(0, 99, "x")))
            assert await client.known("/w") == {FIRST.document: digest("1st\ntwo\n")}
            assert await client.known("/other") == {}
            assert box.script.events == []  # no model was loaded for it

    run(test())


def test_lessons_of_one_client_are_taken_in_in_the_order_of_the_calls() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.learn(FIRST)
            lessons = [change(number, TextChange(0, 0, f"{number};")) for number in range(1, 200)]
            assert all(await asyncio.gather(*map(client.learn, lessons)))
            text = ";".join(str(number) for number in reversed(range(1, 200))) + ";one\ntwo\n"
            assert await client.known("/w") == {FIRST.document: digest(text)}

    run(test())


def test_documents_are_renamed_forgotten_exported_and_counted() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.learn(FIRST)
            await client.learn(Lesson("/w", "b", 1, "x"))
            assert await client.rename("/w", FIRST.document, "file:///w/c.py", "c.py")
            assert not await client.rename("/w", FIRST.document, "d")
            exported = await client.export("/w")
            assert [(each["path"], each["text"]) for each in exported["documents"]] == [
                ("", "x"),
                ("c.py", "one\ntwo\n"),
            ]
            await client.judge(Feedback("/w", Reception.PARTLY, offered=10, kept=4))
            await client.judge(Feedback("/w", Reception.DELETED, offered=5))
            (counts,) = await client.knowledge()
            assert (counts["workspace"], counts["documents"], counts["lines"]) == ("/w", 2, 2)
            assert counts["receptions"] == {"accepted": 0, "partly": 1, "rejected": 0, "deleted": 1}
            assert (counts["offered_characters"], counts["kept_characters"]) == (15, 4)
            assert await client.forget("/w", "b") == 1
            assert await client.forget("/w", "b") == 0
            assert await client.forget("/w") == 1
            assert await client.known("/w") == {}
            assert await client.knowledge() == []

    run(test())


def test_an_engine_studies_in_its_pauses_behind_every_request() -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.load()
            box.script.lessons = 3
            await client.learn(FIRST)
            await box.until(lambda: box.script.lessons == 0)
            running = asyncio.create_task(client.infill(ask("wait one")))
            await box.until(lambda: box.script.steps["wait one"] > 0)
            box.script.lessons = 2
            slices = len(box.script.studied)
            await client.learn(FIRST)
            queued = asyncio.create_task(client.infill(ask("say two", "other")))
            await asyncio.sleep(0)
            await client.status()
            box.script.gates["one"].set()
            await asyncio.gather(running, queued)
            await box.until(lambda: box.script.lessons == 0)
            assert box.script.events == ["open small", "wait one", "say two"]
            assert set(box.script.studied[slices:]) == {3}  # nothing was read before all were answered

    run(test())


def test_an_engine_that_fails_to_read_goes_on_answering(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as box, box.client() as client:
            await client.load()
            box.script.complaint = "sec" + "ret"
            slices = len(box.script.studied)
            await client.learn(Lesson("/w", "b", 1, "text"))
            await box.until(lambda: len(box.script.studied) > slices)
            assert (await client.infill(ask("say x"))).text == "x"

    run(test())
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": None}, "Lesson.base"),
        ({"text": 3}, "Lesson.text"),
        ({"relevance": 10}, "Lesson.relevance"),
        ({"version": "1"}, "Lesson.version"),
    ],
)
def test_a_lesson_of_wrong_values_is_refused(arguments: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Lesson(**{"workspace": "/w", "document": "a", "version": 1, "text": "", **arguments})  # type: ignore[arg-type]  # the point


def test_lessons_cross_the_wire_and_are_checked_there() -> None:
    frame = f.Learn(7, change(1, TextChange(1, 2, "ü")))
    body = p.encode(frame)[4:]
    assert p.decode(body) == frame
    with pytest.raises(ProtocolError, match=r"Lesson\.relevance"):
        p.decode(body.replace(b"relevance\0", b"relevance\x0a"))
