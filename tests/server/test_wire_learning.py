"""Learning over the wire: what the daemon keeps of a workspace, and that secrets are nowhere."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Answers
from tests.support.wire import WITH_INLINE, Message, Wire, change

WATCHING = {**WITH_INLINE, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
SECRETS = ("env_sesame_1", "ignored_sesame_2", "later_sesame_3", "untitled_sesame_4")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "ignored").mkdir()
    (tmp_path / ".gitignore").write_text("ignored/\n")
    (tmp_path / ".env").write_text("KEY=env_sesame_1\n")
    (tmp_path / "ignored" / "x.py").write_text("key = 'ignored_sesame_2'\n")
    (tmp_path / "later.py").write_text("key = 1\n" + lines())
    (tmp_path / "decoy.py").write_text("decoy = 1\n")
    return tmp_path


def lines() -> str:
    return "".join(f"def area_{number}(width, height):\n    return width * height\n" for number in range(12))


def begin(wire: Wire, root: Path, capabilities: Message = WATCHING) -> list[Message]:
    """Initialize with the folder; the registrations that the server asks for are noted down."""
    asked: list[Message] = []
    wire.answers["client/registerCapability"] = asked.append
    wire.initialize(capabilities, workspaceFolders=[{"uri": root.as_uri(), "name": "root"}])
    return asked


def command(wire: Wire, name: str, *arguments: str) -> Any:
    params = {"command": f"velospec.workspace.{name}", "arguments": list(arguments)}
    return wire.call("workspace/executeCommand", params)


def wait_for_files(wire: Wire, *names: str) -> dict[str, Any]:
    """What `show` answers, once these files and no others are known."""
    until = time.monotonic() + 30
    while True:
        shown = command(wire, "show")
        paths = sorted(each["path"] for each in shown["documents"])
        if paths == sorted(names):
            return dict(shown)
        assert time.monotonic() < until, f"known are {paths}"
        time.sleep(0.05)


def watched(wire: Wire, *files: Path) -> None:
    changes = [{"uri": file.as_uri(), "type": 2} for file in files]
    wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})


def unpacked(data: bytes) -> bytes:
    """`data`, and whatever compressed streams it holds."""
    found, at = [data], data.find(b"\x78")
    while at >= 0:
        with suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(data[at:]))
        at = data.find(b"\x78", at + 1)
    return b"".join(found)


def test_what_is_known_is_shown_exported_and_forgotten(start: Callable[..., Wire], root: Path) -> None:
    wire = start()
    asked = begin(wire, root)
    uri = (root / "a.py").as_uri()
    wire.open(uri, "one\r\n")
    shown = wait_for_files(wire, "a.py", "decoy.py", "later.py")
    assert shown["text"].splitlines()[:2] == [f"Learned of {root}: 3 files, 27 lines.", "      1  a.py"]
    assert [it["registrations"][0]["method"] for it in asked] == ["workspace/didChangeWatchedFiles"]
    wire.notify("textDocument/didChange", change(uri, 2, (0, 3, 0, 3, " more")))
    time.sleep(1.5)  # edits are gathered for a second
    exported = command(wire, "export", uri)
    assert {each["path"]: each["text"] for each in exported["documents"]} == {
        "a.py": "one more\n",
        "decoy.py": "decoy = 1\n",
        "later.py": (root / "later.py").read_text(),
    }
    assert command(wire, "forget", uri, "file") == {
        "text": f"Forgot what was learned of {root}: 1 file.",
        "workspace": str(root),
        "forgotten": 1,
    }
    wait_for_files(wire, "decoy.py", "later.py")
    assert command(wire, "forget")["forgotten"] == 2
    wait_for_files(wire)
    assert str(root) not in command(wire, "stats")["text"]
    assert command(wire, "show", "untitled:a")["text"].startswith("Nothing is learned here")


def test_renamed_and_changed_files(start: Callable[..., Wire], root: Path) -> None:
    wire = start()
    begin(wire, root)
    wire.open((root / "a.py").as_uri(), "one\n")
    wait_for_files(wire, "a.py", "decoy.py", "later.py")
    (root / "decoy.py").rename(root / "new.py")
    files = [{"oldUri": (root / "decoy.py").as_uri(), "newUri": (root / "new.py").as_uri()}]
    wire.notify("workspace/didRenameFiles", {"files": files})
    wait_for_files(wire, "a.py", "new.py", "later.py")
    (root / "new.py").unlink()
    (root / "made.py").write_text("two\n")
    watched(wire, root / "new.py", root / "made.py")
    wait_for_files(wire, "a.py", "made.py", "later.py")


def test_nothing_is_learned_where_the_user_does_not_want_it(start: Callable[..., Wire], root: Path) -> None:
    wire = start()
    folders = [{"uri": root.as_uri(), "name": "root"}]
    wire.initialize(None, {"learn": False}, workspaceFolders=folders)
    wire.open((root / "a.py").as_uri(), "one\n")
    time.sleep(1.5)
    assert command(wire, "show")["documents"] == []


def test_secrets_are_nowhere(start: Callable[..., Wire], root: Path, answers: Answers) -> None:
    answers.write({"width": ", height", "key = ": "'sesame'"})
    (root / "later.py").write_text("key = 'later_sesame_3'\n" + lines())
    wire = start()
    begin(wire, root)
    uri, untitled = (root / "a.py").as_uri(), "untitled:Untitled-1"
    wire.open(uri, lines() + "def area(width")
    wait_for_files(wire, "a.py", "decoy.py", "later.py")
    for name in (".env", "ignored/x.py"):
        wire.open((root / name).as_uri(), (root / name).read_text())
        assert wire.complete((root / name).as_uri(), 0, 4) == []
    wire.open(untitled, lines() + "code = 'untitled_sesame_4'\nkey = ")
    wire.complete(untitled, 25, 6)
    (root / ".gitignore").write_text("ignored/\nlater.py\n")
    watched(wire, root / ".gitignore")
    wait_for_files(wire, "a.py", "decoy.py")
    asked_before = len((answers.folder / "log.jsonl").read_text().splitlines())
    wire.notify("textDocument/didChange", change(uri, 2, (24, 14, 24, 14, ", width")))
    wire.complete(uri, 24, 21)
    wire.open((root / "later.py").as_uri(), (root / "later.py").read_text())
    assert wire.complete((root / "later.py").as_uri(), 0, 4) == []
    time.sleep(1.5)
    assert command(wire, "forget", (root / "decoy.py").as_uri(), "file")["forgotten"] == 1  # is written now
    kept = [file for file in answers.home.rglob("*") if file.is_file() and answers.folder not in file.parents]
    assert any(file.suffix == ".learned" and b"def area" in unpacked(file.read_bytes()) for file in kept)
    for file in kept:
        data = unpacked(file.read_bytes())
        assert [secret for secret in SECRETS if secret.encode() in data] == [], file
    assert not [secret for secret in SECRETS if secret.encode() in wire.stderr]
    prompts = (answers.folder / "log.jsonl").read_text().splitlines()
    for number, line in enumerate(prompts):
        entry = json.loads(line)
        held = {secret for secret in SECRETS if secret in json.dumps(entry)}
        assert held <= ({SECRETS[3]} if entry.get("document", untitled) == untitled else set())
        assert number < asked_before or entry.get("context", []) == []
