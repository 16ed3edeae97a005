"""What is kept of workspaces: loads as it was, forgets for good, survives crashes and other processes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from velospec.core.learning import Feedback, Lesson, Reception
from velospec.learning.workspace import documents as documents_module
from velospec.learning.workspace import library as library_module
from velospec.learning.workspace.documents import Workspace
from velospec.learning.workspace.library import Workspaces
from velospec.learning.workspace.store import ASIDE, MAGIC, path_of

WRITER = Path(__file__).parents[1] / "support" / "learning_writer.py"
WORD = "the_word_that_must_not_stay"


def learn(spaces: Workspaces, document: str, text: str, version: int = 1, **more: int) -> None:
    lesson = Lesson("/w", document, version, text, path=f"{document}.py", **more)
    assert spaces.of("/w").learn(lesson)


def texts(spaces: Workspaces) -> dict[str, str]:
    return {each.name: each.text for each in spaces.of("/w").snapshot()}


def everything_in(folder: Path) -> bytes:
    """The bytes of all files, and of all that is compressed in them."""
    found = b""
    for path in folder.rglob("*"):
        data = path.read_bytes()
        found += data
        for start in range(len(data)):
            if data[start] == 0x78:  # of zlib
                try:
                    found += zlib.decompressobj().decompress(data[start:])
                except zlib.error:
                    continue
    return found


def test_what_was_learned_is_there_again(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    learn(spaces, "a", "alpha\n", relevance=9)
    learn(spaces, "b", "größe 😀\n")
    spaces.of("/w").judge(Feedback("/w", Reception.ACCEPTED, 8, 8))
    spaces.of("/other").learn(Lesson("/other", "c", 1, "gamma\n"))
    spaces.flush()
    again = Workspaces(tmp_path)
    assert again.of("/w").export() == spaces.of("/w").export()
    assert texts(again) == {"a": "alpha\n", "b": "größe 😀\n"}
    assert sorted(each["workspace"] for each in Workspaces(tmp_path).counts()) == ["/other", "/w"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_nothing_is_written_where_nothing_changed(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    learn(spaces, "a", "alpha\n")
    spaces.flush()
    before = path_of(tmp_path, "/w").stat().st_ino
    spaces.flush()
    again = Workspaces(tmp_path)
    assert texts(again) == {"a": "alpha\n"}
    again.flush()
    assert path_of(tmp_path, "/w").stat().st_ino == before


def test_a_forgotten_document_has_left_no_trace(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    learn(spaces, "a", f"x = '{WORD}'\n" * 20)
    learn(spaces, f"{WORD}_name", "y\n")
    learn(spaces, "b", "z\n" * 20)
    spaces.flush()
    path_of(tmp_path, "/w").with_suffix(ASIDE).write_text(WORD)
    assert WORD.encode() in everything_in(tmp_path)
    assert spaces.forget("/w", "a") == 1
    assert spaces.forget("/w", f"{WORD}_name") == 1
    assert WORD.encode() not in everything_in(tmp_path)
    assert b"z\n" * 20 in everything_in(tmp_path)
    assert Workspaces(tmp_path).forget("/w") == 1
    assert b"/w" not in everything_in(tmp_path)
    assert b"z\n" * 20 not in everything_in(tmp_path)


def test_a_changed_document_keeps_nothing_of_its_former_text(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path)
    learn(spaces, "a", f"{WORD}\n")
    spaces.flush()
    learn(spaces, "a", "other\n", 2)
    spaces.flush()
    assert WORD.encode() not in everything_in(tmp_path)


def test_two_processes_on_one_workspace_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, two = Workspaces(tmp_path), Workspaces(tmp_path)
    learn(one, "shared", "old\n")
    learn(two, "mine", "two\n")
    one.flush()
    two.flush()
    learn(two, "shared", "new\n", 2)
    learn(one, "theirs", "one\n")
    one.of("/w").judge(Feedback("/w", Reception.ACCEPTED))
    two.of("/w").judge(Feedback("/w", Reception.ACCEPTED))
    for spaces in (one, two, one, two):
        spaces.flush()
    assert texts(one) == texts(two) == {"shared": "new\n", "mine": "two\n", "theirs": "one\n"}
    assert one.of("/w").receptions["accepted"] == two.of("/w").receptions["accepted"] == 2


def test_what_one_process_forgets_no_other_brings_back(tmp_path: Path) -> None:
    one, two = Workspaces(tmp_path), Workspaces(tmp_path)
    for name in ("a", "b"):
        learn(one, name, f"{WORD}\n")
    one.flush()
    assert texts(two).keys() == {"a", "b"}
    one.forget("/w", "a")
    learn(two, "c", "c\n")
    two.flush()
    assert texts(two).keys() == {"b", "c"}
    two.forget("/w")
    learn(one, "d", "d\n")
    one.flush()
    assert texts(one).keys() == {"d"}
    learn(one, "a", "again\n")  # what is learned anew is known again
    one.flush()
    two.flush()
    assert texts(two) == {"d": "d\n", "a": "again\n"}
    assert WORD.encode() not in everything_in(tmp_path)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no file of VeloSpec"),
        (b"SQLite format 3\0", "no file of VeloSpec"),
        (MAGIC + b"99\n" + bytes(40), "another version"),
        (MAGIC + b"1\n" + bytes(40), "damaged"),
    ],
)
def test_an_unusable_file_is_set_aside_with_one_message(tmp_path: Path, data: bytes, why: str) -> None:
    path = path_of(tmp_path, "/w")
    path.write_bytes(data)
    spaces = Workspaces(tmp_path)
    assert texts(spaces) == {}
    learn(spaces, "a", "alpha\n")
    spaces.flush()
    assert len(spaces.messages) == 1
    assert why in spaces.messages[0]
    assert path.with_suffix(ASIDE).read_bytes() == data
    assert texts(Workspaces(tmp_path)) == {"a": "alpha\n"}


@settings(max_examples=40, deadline=None)
@given(cut=st.floats(0, 1), flip=st.booleans())
def test_a_torn_file_is_never_half_believed(
    cut: float, flip: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    spaces = Workspaces(folder)
    learn(spaces, "a", "alpha beta\n" * 9)
    spaces.flush()
    path = path_of(folder, "/w")
    data = bytearray(path.read_bytes())
    place = min(int(cut * len(data)), len(data) - 1)
    if flip:
        data[place] ^= 1
    else:
        del data[place:]
    path.write_bytes(data)
    again = Workspaces(folder)
    assert texts(again) == {}
    assert len(again.messages) == 1


def test_a_file_of_wrong_shape_is_set_aside_too(tmp_path: Path) -> None:
    body = msgpack.packb({"workspace": "/w", "documents": [[1]], "forgotten": {}, "receptions": {}})
    path_of(tmp_path, "/w").write_bytes(MAGIC + b"1\n" + hashlib.sha256(body).digest() + body)
    spaces = Workspaces(tmp_path)
    assert texts(spaces) == {}
    assert "not as it should be" in spaces.messages[0]


def test_a_workspace_is_bounded_and_keeps_the_most_relevant() -> None:
    workspace = Workspace("/w", max_text=100)
    for number in range(10):
        lesson = Lesson("/w", str(number), 1, "x" * 20, relevance=9 if number == 2 else 0)
        assert workspace.learn(lesson)
        assert workspace.characters == sum(len(each.text) for each in workspace.snapshot()) <= 100
    assert [each.name for each in workspace.snapshot()] == ["2", "6", "7", "8", "9"]
    assert workspace.learn(Lesson("/w", "2", 2, "x" * (documents_module.MAX_DOCUMENT + 1)))
    assert "2" not in workspace.documents


def test_the_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "MAX_STORE", 2500)
    chance = random.Random(1)  # noqa: S311  (no secrets)
    spaces = Workspaces(tmp_path)
    for number in range(5):
        name = f"/{number}"
        assert spaces.of(name).learn(Lesson(name, "a", 1, chance.randbytes(500).hex()))
        spaces.flush()
        os.utime(path_of(tmp_path, name), (number, number))
    spaces = Workspaces(tmp_path)
    assert spaces.of("/4").learn(Lesson("/4", "b", 1, "b"))
    spaces.flush()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.learned")) <= 2500
    assert path_of(tmp_path, "/4").exists()


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_a_process_killed_at_any_moment_loses_no_more_than_since_its_last_flush(
    tmp_path: Path, kills: int
) -> None:
    chance = random.Random(kills)  # noqa: S311  (no secrets)
    flushed = 0
    for _ in range(kills):
        command = [sys.executable, str(WRITER), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            told = [writer.stdout.readline()]
            time.sleep(chance.random() * 0.05)
            writer.send_signal(signal.SIGKILL)
            told += writer.stdout.readlines()
        whole = [line for line in told if line.endswith("\n")]
        flushed = int(whole[-1])
        spaces = Workspaces(tmp_path)
        assert spaces.messages == []
        found = texts(spaces)
        assert int(found["count"]) >= flushed
        assert len(set(found.values()) - {found["count"]}) <= 1  # all of one flush
    assert flushed >= kills
