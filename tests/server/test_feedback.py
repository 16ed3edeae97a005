"""Counts of what became of suggestions: numbers only, summed over editors, and the share that is wanted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import pytest

from velospec.core.acceptance_counts import add_counts, read_counts
from velospec.core.file_lock import lock_file
from velospec_cli.status import status
from velospec_lsp.completion.feedback import Feedback
from velospec_lsp.documents import Document
from velospec_lsp.encoding import PositionEncoding
from velospec_lsp.events import Decision, Fate
from velospec_lsp.text import Place, Text

TODAY = date.today().isoformat()  # noqa: DTZ011 - the user's day


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def decision(fate: Fate, language: str = "python") -> Decision:
    document = Document("file:///secret.py", language, 1, Text.of("token = 1\n"), PositionEncoding.UTF16)
    return Decision(fate, "v1", document, Place(0, 0), "password", 8)


def decide(feedback: Feedback, *fates: Fate, language: str = "python") -> None:
    for fate in fates:
        feedback.decided(decision(fate, language))


def test_editors_add_to_one_file_that_holds_numbers_only(tmp_path: Path) -> None:
    one, other = Feedback(tmp_path), Feedback(tmp_path)
    decide(one, Fate.SHOWN, Fate.ACCEPTED)
    decide(other, Fate.SHOWN, Fate.REJECTED)
    decide(other, Fate.SHOWN, language="go")
    assert one.totals() == {"python": Counter(shown=1, accepted=1)}
    one.write()
    other.write()
    one.write()
    assert one.totals() == other.totals()
    assert one.totals() == {"python": Counter(shown=2, accepted=1, rejected=1), "go": Counter(shown=1)}
    [file] = [file for file in tmp_path.iterdir() if file.suffix == ".json"]
    assert json.loads(file.read_text("utf-8")) == {
        "version": 1,
        "days": {TODAY: {"python": {"shown": 2, "accepted": 1, "rejected": 1}, "go": {"shown": 1}}},
    }


def test_it_is_written_now_and_then(tmp_path: Path) -> None:
    clock = Clock()
    feedback = Feedback(tmp_path, clock)
    decide(feedback, Fate.SHOWN)
    assert read_counts(tmp_path) == {}
    clock.now = 30.0
    decide(feedback, Fate.TYPED)
    assert read_counts(tmp_path) == {TODAY: {"python": Counter(shown=1, typed=1)}}


def test_what_cannot_be_written_now_is_written_later(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path)
    decide(feedback, Fate.SHOWN)
    with (tmp_path / ".acceptance.json.lock").open("a+") as file:
        lock_file(file.fileno())
        feedback.write()
        assert read_counts(tmp_path) == {}
        assert feedback.totals() == {"python": Counter(shown=1)}
    feedback.write()
    assert read_counts(tmp_path) == {TODAY: {"python": Counter(shown=1)}}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"days": 1}', '{"days": {"2026-01-01": 1}}', '{"days": {"2026-01-01": {"go": [1]}}}'],
)
def test_a_broken_file_counts_as_empty_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "acceptance.json").write_text(text, "utf-8")
    assert read_counts(tmp_path) == {}
    assert add_counts({TODAY: {"go": Counter(shown=1)}}, tmp_path)
    assert read_counts(tmp_path) == {TODAY: {"go": Counter(shown=1)}}


def test_only_right_counts_are_read(tmp_path: Path) -> None:
    counts = {"shown": 3, "accepted": -1, "typed": True, "partly": "2", "other": 4}
    (tmp_path / "acceptance.json").write_text(json.dumps({"days": {TODAY: {"go": counts}}}), "utf-8")
    assert read_counts(tmp_path) == {TODAY: {"go": Counter(shown=3)}}


def test_old_days_count_no_more_and_are_dropped(tmp_path: Path) -> None:
    days = {
        (date.today() - timedelta(days=age)).isoformat(): {"go": Counter(shown=1)}  # noqa: DTZ011 - as above
        for age in (0, 27, 28, 90, 91)
    }
    assert add_counts(days, tmp_path)
    assert Feedback(tmp_path).totals() == {"go": Counter(shown=2)}
    assert len(read_counts(tmp_path)) == 4


def test_the_rate_begins_at_one_half_and_follows_what_is_done(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path)
    assert feedback.rate("python") == 0.5
    decide(feedback, *[Fate.SHOWN] * 9, *[Fate.REJECTED] * 20)
    assert feedback.rate("python") == 0.25
    assert feedback.rate("go") == 0.5
    decide(feedback, *[Fate.ACCEPTED] * 20, *[Fate.PARTLY] * 10, *[Fate.TYPED] * 10)
    assert feedback.rate("python") == (40 + 10) / (60 + 20)
    decide(feedback, *[Fate.DELETED] * 10)
    assert feedback.rate("python") == (30 + 10) / (60 + 20)


def test_the_status_command_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VELOSPEC_HOME", str(tmp_path))
    status()
    assert "Suggestions" not in capsys.readouterr().out
    assert add_counts({TODAY: {"go": Counter(shown=3, typed=1)}})
    status()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[-2:] == [
        ["language", "shown", "accepted", "partly", "typed", "rejected", "deleted"],
        ["go", "3", "0", "0", "1", "0", "0"],
    ]
    status(as_json=True)
    assert json.loads(capsys.readouterr().out)["suggestions"] == {"go": {"shown": 3, "typed": 1}}
