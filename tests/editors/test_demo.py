"""`velospec demo` through the real server and model, and what it draws, exactly."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from velospec.models.store import InstalledModel
from velospec_cli import demo_view as view
from velospec_cli.demo_speed import Speed, beginning
from velospec_cli.demo_spots import SPEED_FILES, SPOTS, copy_project

VELOSPEC = Path(sys.executable).with_name("velospec")
TEXT = "def area(r):\n    return \n\nprint(area())\n"


def drawn(thing: object, width: int = 40) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(thing)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def frame(ghost: str, before: str = "return ", start: int = 0, after: int = 0) -> view.Frame:
    index = TEXT.index(before) + len(before)
    return view.Frame("area.py", "python", TEXT, index, index - start, index + after, ghost)


def test_draws_ghost_text_at_the_cursor_and_numbers_only_what_is_in_the_file() -> None:
    assert drawn(view.editor(frame("(\n        3.14 * r * r\n    )"))) == [
        "╭─ area.py ────────────────────────────╮",
        "│ 1   def area(r):                     │",
        "│ 2 +     return (                     │",
        "│   +         3.14 * r * r             │",
        "│   +     )                            │",
        "│ 3                                    │",
        "│ 4   print(area())                    │",
        "╰──────────────────────────────────────╯",
    ]


def test_draws_only_what_is_not_typed_yet_and_replaces_closers() -> None:
    rows = drawn(view.editor(frame("area(2))", before="print(area(", start=5, after=2)))
    assert rows[4] == "│ 4 + print(area(2))                   │"


def test_draws_the_code_alone_where_nothing_is_offered() -> None:
    assert not any("+" in row for row in drawn(view.editor(frame(""))))


def test_cuts_long_lines_in_a_narrow_terminal() -> None:
    rows = drawn(view.editor(frame("3.14159265 * r * r")), width=24)
    assert rows[2] == "│ 2 +     return 3.14… │"
    assert {len(row) for row in rows} == {24}


def speed(*, identical: bool) -> Speed:
    return Speed("a.py", 20.0, 30.0, tokens=128, tokens_per_step=2.5, accepted=0.7, identical=identical)


def test_tells_speeds_and_whether_outputs_are_the_same() -> None:
    assert drawn(view.speeds([speed(identical=True)]), 80)[-1].split() == [
        "a.py",
        "20.0",
        "30.0",
        "1.50x",
        "2.50",
    ]
    assert "identical" in str(view.verdict([speed(identical=True)]))
    assert str(view.verdict([speed(identical=False)])).startswith("Outputs differ for a.py; 0 of 1")


def test_each_spot_lies_once_in_the_project(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    for spot in SPOTS:
        assert (project / spot.file).read_text("utf-8").count(spot.anchor) == 1
    for name in SPEED_FILES[0]:
        assert (project / name).is_file()


def run_demo(*arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    overlay = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "70"} | (
        {"VELOSPEC_HOME": str(home)} if home else {}
    )
    return subprocess.run(
        [str(VELOSPEC), "demo", *arguments],
        env={**os.environ, **overlay},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("a\nb\nc\n", "a\nb"), ("a\n\n\nb\nc\nd\n", "a\n\n\nb"), ("a\n", "a"), ("", "")]
)
def test_speed_is_compared_after_two_thirds_of_a_file(text: str, expected: str) -> None:
    assert beginning(text) == expected


def test_an_unknown_model_is_named_with_a_remedy(tmp_path: Path) -> None:
    result = run_demo("--model", "no-such-model", home=tmp_path)
    assert result.returncode == 1
    assert 'No model "no-such-model" is installed.' in result.stderr
    assert "velospec model" in result.stderr


@pytest.mark.parametrize("option", ["--race-only", "--race-svg=race.svg"])
def test_no_race_leaves_no_race_to_show(option: str, tmp_path: Path) -> None:
    result = run_demo("--no-race", option, home=tmp_path)
    assert result.returncode == 2
    assert "--no-race leaves no race to show" in result.stderr


@pytest.mark.model
def test_shows_real_completions_in_a_dumb_terminal(default_model: InstalledModel, tmp_path: Path) -> None:
    before = subprocess.run([str(VELOSPEC), "daemon", "status"], capture_output=True, text=True, check=False)
    picture, moving = tmp_path / "demo.svg", tmp_path / "race.svg"
    result = run_demo("--model", default_model.name, "--svg", str(picture), "--race-svg", str(moving))
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    for spot in SPOTS:
        assert f"─ {spot.file} ─" in result.stdout
    assert re.search(r"^│ \d+ \+ +for item in self\.items", result.stdout, re.MULTILINE)
    times = r"^first request [\d,]+ ms, \d+ characters later [\d,]+ ms$"
    assert len(re.findall(times, result.stdout, re.MULTILINE)) == len(SPOTS)
    assert len(re.findall(r"^\S+ +[\d.]+ +[\d.]+ +[\d.]+x +[\d.]+ *$", result.stdout, re.MULTILINE)) == 3
    assert "All outputs with drafts are identical to those without" in result.stdout
    assert "Both wrote the same text, token for token." in result.stdout
    assert "velospec editor neovim" in result.stdout
    assert picture.read_text("utf-8").startswith("<svg")
    assert 160 < moving.read_text("utf-8").count("<animate") < 1000
    after = subprocess.run([str(VELOSPEC), "daemon", "status"], capture_output=True, text=True, check=False)
    assert after.returncode == before.returncode
