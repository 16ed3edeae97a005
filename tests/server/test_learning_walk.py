"""Which files of a workspace are learned, in which order, and within which bounds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from velospec_lsp.completion.context.files import LARGEST
from velospec_lsp.learning import walk
from velospec_lsp.learning.walk import Surroundings, find_files, imported_names, look_at, read
from velospec_lsp.privacy import PrivacyGate

LONG_AGO = 1_000_000_000
DAY = 86_400


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def put(root: Path, name: str, text: str = "x = 1\n", changed: float = LONG_AGO) -> str:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (changed, changed))
    return str(file)


def found(root: Path, around: Surroundings | None = None) -> list[tuple[str, int]]:
    files = find_files(str(root), PrivacyGate(), around or Surroundings())
    return [(str(Path(each.path).relative_to(root)), each.relevance) for each in files]


def test_the_most_relevant_files_come_first(root: Path) -> None:
    opened = put(root, "pkg/open.py")
    for name in (
        "pkg/beside.py",
        "pkg/deep/near.py",
        "far/away/from/it.py",
        "lib/used.py",
        "other/__init__.py",
    ):
        put(root, name)
    put(root, "far/today.py", changed=time.time())
    put(root, "far/week.py", changed=time.time() - 3 * DAY)
    around = Surroundings(frozenset([opened]), frozenset(["used", "other"]))
    assert found(root, around) == [
        ("lib/used.py", 8),
        ("other/__init__.py", 8),
        ("pkg/beside.py", 7),
        ("far/today.py", 6),
        ("far/week.py", 5),
        ("pkg/deep/near.py", 4),
        ("far/away/from/it.py", 2),
    ]


def test_what_is_not_entered(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    put(outside, "secret.py")
    for name in ("a.py", "ignored/b.py", ".hidden/c.py", "node_modules/d.js", ".dot.py", "e.txt"):
        put(root, name)
    put(root, "long.py", "x" * (LARGEST + 1))
    (root / "link").symlink_to(outside)
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / ".gitignore").write_text("ignored/\n")
    assert found(root) == [("a.py", 2)]
    gate = PrivacyGate()
    names = (
        "a.py",
        "ignored/b.py",
        ".hidden/c.py",
        "node_modules/d.js",
        "link/secret.py",
        "link.py",
        "e.txt",
    )
    assert [name for name in names if look_at(str(root / name), str(root), gate)] == ["a.py"]
    known = [name for name in names if look_at(str(root / name), str(root), gate, known=True)]
    assert "e.txt" in known
    assert "ignored/b.py" not in known


def test_the_bounds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        put(root, f"{number}.py", "x" * 100, changed=LONG_AGO - number)
    monkeypatch.setattr(walk, "MOST_BYTES", 450)
    assert [name for name, _ in found(root)] == ["0.py", "1.py", "2.py", "3.py"]
    monkeypatch.setattr(walk, "MOST_FILES", 3)
    assert [name for name, _ in found(root)] == ["0.py", "1.py", "2.py"]


def test_a_file_is_read_as_the_gate_has_it_then(root: Path) -> None:
    put(root, "a.py", "one\r\ntwo\r")
    [file] = find_files(str(root), PrivacyGate(), Surroundings())
    assert read(file, PrivacyGate()) == "one\ntwo\n"
    assert read(file, PrivacyGate(("a.py",))) is None
    (root / "a.py").write_bytes(b"\xff\xfe")
    assert read(file, PrivacyGate()) is None


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from a.b import c", {"a", "b", "c"}),
        ("import pkg.mod as m", {"pkg", "mod", "m"}),
        ("import { x } from './lib/tool-box'", {"x", "lib", "tool-box"}),
        ('const fs = require("../io/files.js")', {"io", "files"}),
        ('#include "inner/list.h"', {"inner", "list"}),
        ("use crate::parse;", {"crate", "parse"}),
        ("value = important(thing)", set()),
    ],
)
def test_names_of_imports(line: str, names: set[str]) -> None:
    assert names <= set(imported_names([line]))
    assert bool(names) == bool(set(imported_names([line])))
