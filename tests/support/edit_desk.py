"""A daemon whose chat model calls what a test has written down, and a home in which it is installed.

The model's file is a head with a chat template and nothing to compute with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import answering_daemon
from tests.support.gguf_files import sha256, write_gguf

TEMPLATE = "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}<assistant>"


class Desk:
    """The home, and what the model will answer there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "answers"
        self.folder.mkdir(parents=True)
        self.clear()

    @property
    def environment(self) -> dict[str, str]:
        return {"VELOSPEC_HOME": str(self.home), "VELOSPEC_ANSWERS": str(self.folder)}

    def clear(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()
        self._put("answers.json", "{}")
        self.answers: dict[str, dict[str, Any]] = {}
        self._put("chat.json", "{}")

    def answer(self, part: str, text: str, **more: Any) -> None:
        """What to answer to prompts that hold `part`; `more` as the daemon's module describes."""
        self.answers[part] = {"text": text, **more}
        self._put("chat.json", json.dumps(self.answers))

    def call(self, part: str, name: str, **arguments: Any) -> None:
        """The call to answer with."""
        self.answer(part, json.dumps({"name": name, "arguments": arguments}))

    def infill(self, answers: dict[str, str]) -> None:
        """What to complete with, by the end of the text before the cursor."""
        self._put("answers.json", json.dumps({end: {"text": text} for end, text in answers.items()}))

    def go(self) -> None:
        """Let an answer with `wait` come."""
        self._put("go", "")

    def log(self, event: str = "generate") -> list[dict[str, Any]]:
        file = self.folder / "log.jsonl"
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def install(self) -> None:
        """Have the chat model in the store that the language server looks into."""
        folder = self.home / "data" / "models" / "talker"
        path = write_gguf(folder / "talker.gguf", chat=TEMPLATE)
        stat = path.stat()
        manifest = {"version": 1, "roles": ["chat"], "file": path.name, "sha256": sha256(path)}
        manifest |= {"size": stat.st_size, "modified_ns": stat.st_mtime_ns, "infill": None}
        manifest |= {"licence": "none", "source": "test"}
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")

    def _put(self, name: str, text: str) -> None:
        draft = self.folder / f".{name}"
        draft.write_text(text, "utf-8")
        draft.replace(self.folder / name)


@contextmanager
def running(home: Path) -> Iterator[Desk]:
    """A desk whose daemon runs until the block ends."""
    desk = Desk(home)
    desk.install()
    # No client is newer than this build, so none retires the daemon when a source file changes meanwhile.
    command = [sys.executable, answering_daemon.PROGRAM, "--build=9999.0"]
    process = subprocess.Popen(command, env={**os.environ, **desk.environment}, stdout=subprocess.PIPE)
    assert process.stdout
    try:
        assert b"ready" in process.stdout.readline()
        yield desk
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
