"""A session with the real model and daemon: drafts of every kind are accepted, the workspace's among them."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CACHE
from tests.support.wire import WITH_INLINE, Wire
from velospec.daemon.running import stop_daemons
from velospec.models.store import InstalledModel

pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(600)]

SETTINGS = {"budgetMs": 20_000, "minConfidence": 0, "maxLines": 8}
SHAPES = ("circle", "square", "triangle", "hexagon", "pentagon", "ellipse")
LIBRARY = """import math


class {upper}:
    def __init__(self, width, height, name="{name}"):
        self.width = width
        self.height = height
        self.name = name

    def area(self):
        return self.width * self.height

    def describe(self):
        if self.width < 0 or self.height < 0:
            raise ValueError("negative size")
        for key in ("width", "height"):
            print(f"{{key}}: {{getattr(self, key)}}")
        return f"{{self.name}}: {{self.area()}}"
"""
CLOSING = (
    "function first(list) {\n    if (list) {\n        console.log(list.map((x) => [x, [",
    "const table = {\n    rows: [[1, 2], [3, 4]],\n    columns: [[1, 2], [3",
    "function area(shape) {\n    return Math.max(0, (shape.width) * (shape.height",
)
WANTED = {"suffix", "corpus", "ngram", "motif", "syntax_fsm", "ast_shadow", "grammar_state"}
"""The last drafts what a grammar forces, and what goes on behind it."""

SCHEMA = """{"type": "object", "properties": {"maintainers": {"enum": ["nobody"]}, "repository": {"const":
"https://example.org/velospec"}}, "required": ["maintainers", "repository"], "additionalProperties": false}"""


@pytest.fixture
def home(default_model: InstalledModel, tmp_path: Path) -> Iterator[Path]:
    """A home with the installed models and a daemon of its own."""
    assert default_model.present
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "data" / "models").symlink_to(CACHE / "home" / "data" / "models")
    yield home
    before, os.environ["VELOSPEC_HOME"] = os.environ["VELOSPEC_HOME"], str(home)
    try:
        asyncio.run(stop_daemons())
    finally:
        os.environ["VELOSPEC_HOME"] = before


def accepted(wire: Wire, uri: str, text: str, language: str) -> Counter[str]:
    """What was accepted of whose drafts while the model wrote at the end of `text`."""
    wire.open(uri, text, language)
    line = text.count("\n")
    wire.complete(uri, line, len(text.rpartition("\n")[2]), triggerKind=1)
    why = wire.call("workspace/executeCommand", {"command": "velospec.why", "arguments": [uri]})
    wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    wire.opened.discard(uri)
    return Counter(why["model"].get("accepted", {}))


def write(wire: Wire, root: Path, name: str) -> Counter[str]:
    """What is accepted while a class like those of the workspace, some JavaScript and JSON are written."""
    whole = LIBRARY.format(upper=name.title(), name=name)
    ends = [at + 1 for at, char in enumerate(whole) if char == ":" and whole[at + 1] == "\n"]
    ends += [whole.index("self.width = w") + 5, whole.index("raise") + 2, whole.index("describe") + 4]
    texts = [(f"{name}{number}.py", whole[:end], "python") for number, end in enumerate(ends)]
    texts += [(f"{name}{number}.js", text, "javascript") for number, text in enumerate(CLOSING)]
    texts.append((f"{name}.json", '{"$schema": "s.json", ', "json"))
    counts: Counter[str] = Counter()
    for file, text, language in texts:
        counts += accepted(wire, (root / file).as_uri(), text, language)
    return counts


def test_every_proposer_has_its_share(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "s.json").write_text(SCHEMA)
    for name in SHAPES:
        (root / f"{name}.py").write_text(LIBRARY.format(upper=name.title(), name=name))
    wire = Wire({"VELOSPEC_HOME": str(home)})
    wire.answers["window/workDoneProgress/create"] = lambda _params: None
    folders = [{"uri": root.as_uri(), "name": "project"}]
    wire.initialize(WITH_INLINE, SETTINGS, workspaceFolders=folders)
    wire.open((root / "open.py").as_uri(), "import math\n")
    until = time.monotonic() + 60
    show = {"command": "velospec.workspace.show", "arguments": []}
    while len(wire.call("workspace/executeCommand", show)["documents"]) <= len(SHAPES):
        assert time.monotonic() < until
        time.sleep(0.1)
    counts: Counter[str] = Counter()
    # Measured times have a say in which of several drafts is taken, so that one class may not show all.
    for name in ("rhombus", "cube", "prism", "kite"):
        counts += write(wire, root, name)
        if set(counts) >= WANTED:
            break
    wire.quiet()
    wire.unread = [it for it in wire.unread if it.get("method") != "$/progress"]  # of loading the model
    wire.close_documents()
    wire.close()
    assert set(counts) >= WANTED, counts
