"""What a key costs while a workspace is learned, against when nothing is.

`python -m tests.benchmarks.typing_while_learning` measures it.

Each round adds a folder with copies of the standard library (`--lines` of them) to the workspace of one
server, opens a document there and types in it, asking for a completion at each key: first while the folder
is learned, then when that is over. Prints the ratio of both, and the resident memory of server and daemon.
Uses the installed default model and a daemon of its own, those of VELOSPEC_HOME.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tests.support.wire import WITH_INLINE, Wire, at, change

_LINE = "    total = width * height + depth_of(shape)"
_BETWEEN = 0.12  # seconds between two keys


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=30_000, help="of each folder that is learned")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options.rounds, options.lines), indent=2))  # noqa: T201 - its output


def measure(folder: Path, rounds: int, lines: int) -> dict[str, Any]:
    """Seconds of each key, learning and idle, and what they come to."""
    wire = Wire(os.environ)
    wire.answers["window/workDoneProgress/create"] = lambda _params: None
    wire.initialize({**WITH_INLINE, "workspace": {"workspaceFolders": True}}, {"minConfidence": 0})
    learning: list[float] = []
    idle: list[float] = []
    known: list[tuple[int, int, int]] = []
    for number in range(rounds + 1):  # the first one warms up
        root = folder / f"project{number}"
        files = _fill(root, lines)
        added = [{"uri": root.as_uri(), "name": root.name}]
        wire.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        before = _learned(wire, root)
        during = _type(wire, root / "learning.py")
        between = _learned(wire, root)
        while _learned(wire, root) < files:
            time.sleep(0.5)
        time.sleep(3)  # the engine reads what the daemon has
        after = _type(wire, root / "idle.py")
        if number:
            learning += during
            idle += after
            known.append((before, between, files))
    memory = {each.name(): each.memory_info().rss >> 20 for each in _processes(wire)}
    wire.close_documents()
    wire.close()
    return {
        "keys": len(idle),
        "files_known_before_between_after": known,
        "p50_ratio": statistics.median(learning) / statistics.median(idle),
        "p90_ratio": _p90(learning) / _p90(idle),
        "p90_ms": {"learning": 1000 * _p90(learning), "idle": 1000 * _p90(idle)},
        "resident_mb": memory,
    }


def _fill(root: Path, lines: int) -> int:
    """Copy files of the standard library until they have that many lines; how many files that are."""
    root.mkdir()
    count = 0
    for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = source.read_text("utf-8", errors="replace")
        if lines <= 0 or len(text) > 150_000:
            continue
        (root / source.name).write_text(text, "utf-8")
        lines -= text.count("\n")
        count += 1
    return count


def _type(wire: Wire, file: Path) -> list[float]:
    """Seconds from each key of a line to the answer to its request."""
    uri, taken = file.as_uri(), []
    wire.open(uri, "def volume(width, height, depth):\n\n    return total\n")
    for index, char in enumerate(_LINE):
        time.sleep(_BETWEEN)
        began = time.perf_counter()
        wire.notify("textDocument/didChange", change(uri, index + 2, (1, index, 1, index, char)))
        wire.call("textDocument/inlineCompletion", at(uri, 1, index + 1))
        taken.append(time.perf_counter() - began)
    return taken[5:]  # those before are in the indentation, or read the prompt for the first time


def _learned(wire: Wire, root: Path) -> int:
    params = {"command": "velospec.workspace.stats", "arguments": []}
    found = wire.call("workspace/executeCommand", params)["workspaces"]
    return sum(each["documents"] for each in found if each["workspace"] == str(root))


def _processes(wire: Wire) -> list[psutil.Process]:
    """The server, and the largest process of its daemon."""
    status = wire.call("workspace/executeCommand", {"command": "velospec.status", "arguments": []})
    return [psutil.Process(wire.process.pid), psutil.Process(status["daemon"]["pid"])]


def _p90(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[-1]


if __name__ == "__main__":
    main()
