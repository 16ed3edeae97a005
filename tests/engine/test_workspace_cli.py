"""`velospec workspace`, on the files alone and with a running daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from velospec.core.errors import VeloSpecError
from velospec.core.learning import Feedback, Lesson, Reception
from velospec.core.paths import workspaces_folder
from velospec.learning.workspace.library import Workspaces
from velospec_cli.app import app

pytestmark = pytest.mark.usefixtures("home")


def velospec(*arguments: str, typed: str = "", code: int = 0) -> str:
    result = CliRunner().invoke(
        app, ["workspace", *arguments], catch_exceptions=False, env={"COLUMNS": "100"}, input=typed
    )
    assert result.exit_code == code
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace of two files, of which something was learned."""
    spaces = Workspaces(workspaces_folder())
    name = str(tmp_path)
    for path, text in (("a.py", "x = 1\n"), ("sub/b.py", "y = 2\nz = 3\n")):
        lesson = Lesson(name, f"file://{name}/{path}", 1, text, path=path, relevance=len(path))
        assert spaces.of(name).learn(lesson)
    spaces.of(name).judge(Feedback(name, Reception.ACCEPTED, 4, 4))
    spaces.flush()
    return tmp_path


@pytest.fixture(params=["files", "daemon"])
def served(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The same, with and without a daemon."""
    if request.param == "daemon":
        result = CliRunner().invoke(app, ["daemon", "start"], catch_exceptions=False)
        assert result.exit_code == 0
    return folder


def test_nothing_learned_is_said(tmp_path: Path) -> None:
    assert velospec("stats") == "Nothing was learned of any workspace yet.\n"
    assert json.loads(velospec("stats", "--json")) == []
    with pytest.raises(VeloSpecError, match="Nothing was learned of"):
        velospec("show", str(tmp_path))


def test_what_is_known_is_counted_listed_exported_and_forgotten(served: Path) -> None:
    (counts,) = json.loads(velospec("stats", "--json"))
    assert (counts["workspace"], counts["documents"], counts["lines"]) == (str(served), 2, 3)
    assert counts["receptions"]["accepted"] == 1
    lines = velospec("show", str(served / "sub")).splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [["sub/b.py", "2", "8"], ["a.py", "1", "4"]]
    assert "text" not in json.loads(velospec("show", str(served), "--json"))["documents"][0]
    exported = served / "out.json"
    assert velospec("export", str(served), "--output", str(exported)) == ""
    assert json.loads(exported.read_text()) == json.loads(velospec("export", str(served)))
    assert json.loads(exported.read_text())["documents"][0]["text"] == "x = 1\n"
    with pytest.raises(VeloSpecError, match=r"c\.py is not known there"):
        velospec("forget", str(served), "--file", "c.py")
    velospec("forget", str(served), typed="n\n", code=1)
    told = velospec("forget", str(served), "--file", "a.py", "--yes")
    assert told == "Forgot what was learned of a.py.\n"
    assert list(Workspaces(workspaces_folder()).of(str(served)).known()) == [f"file://{served}/sub/b.py"]
    gone = json.loads(velospec("forget", str(served), "--yes", "--json"))
    assert gone == {"workspace": str(served), "forgotten": 1}
    assert json.loads(velospec("stats", "--json")) == []


def test_a_file_that_cannot_be_written_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(VeloSpecError, match="cannot be written"):
        velospec("export", str(folder), "-o", str(folder / "none" / "out.json"))
