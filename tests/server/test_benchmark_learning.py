"""The figures of `velospec benchmark learning`, by counts; and that no file of it taught a shipped rule."""

from __future__ import annotations

from importlib import resources

import pytest

from velospec import Recording, Statistics
from velospec_cli.benchmark.suites import learning
from velospec_cli.benchmark.suites.learning import ANSWERS, NOTHING, PRIORS, SETTINGS, WORKSPACE, Cursor
from velospec_cli.benchmark.suites.prompt import Prompt

SECONDS = {NOTHING: 4.0, PRIORS: 2.0, WORKSPACE: 1.0}
STEPS = {NOTHING: 40, PRIORS: 20, WORKSPACE: 10}


def cursor(project: str, *, factor: float = 1.0) -> Cursor:
    made = Cursor(project, Prompt(f"{project}/a.py:3", "x = ", "\n", f"{project}/a.py"))
    made.answers = {answer: Recording((1,) * 40, (1.0,) * 40) for answer in ANSWERS}
    for answer in ANSWERS:
        for setting in SETTINGS:
            seconds = SECONDS[setting] * (factor if setting == WORKSPACE else 1.0)
            made.counts[answer, setting] = Statistics(
                steps=STEPS[setting],
                new_tokens=40,
                accepted_tokens=40 - STEPS[setting],
                expected_seconds_at=(0.0, seconds),
            )
    return made


def test_a_setting_is_worth_the_time_that_it_saves_on_the_same_tokens() -> None:
    cursors = [cursor("one"), cursor("one"), cursor("two", factor=5.0)]
    summary = learning.summarize(cursors)
    assert summary["workspace_vs_nothing"] == round(12 / 7, 4)
    assert summary["priors_vs_nothing"] == 2.0
    assert summary["worst"] == 0.8
    assert summary["author_worst"] == 0.8
    row = learning.row(cursors, "one")
    assert (row["cursors"], row["workspace_vs_nothing"]) == (2, 4.0)
    assert row["model"][WORKSPACE]["tokens_per_second"] == 40.0
    assert row["model"][WORKSPACE]["tokens_per_pass"] == 4.0
    assert row["author"][NOTHING]["accepted_per_pass"] == 0.0


def test_only_the_workspace_is_more_than_the_shipped_rules() -> None:
    assert SETTINGS[PRIORS] == SETTINGS[WORKSPACE]
    assert SETTINGS[PRIORS] - SETTINGS[NOTHING] == {"ngram"}


def test_cursors_are_drawn_from_five_projects_their_own_file_left_out() -> None:
    cursors = learning.load(1, quick=True)
    assert len({each.project for each in cursors}) == len(cursors) == learning._PROJECTS
    for each in cursors:
        assert each.prompt.corpus
        inner = each.prompt.path.partition("/")[2]
        assert not any(path.as_posix().endswith(each.prompt.path) for path in each.prompt.corpus), inner
        assert learning._taken_out(each.prompt).strip()
        text = each.prompt.before + learning._taken_out(each.prompt) + (each.prompt.after or "")
        assert compile(text, each.prompt.path, "exec")
    assert [each.prompt.name for each in learning.load(1, quick=True)] == [c.prompt.name for c in cursors]


@pytest.mark.parametrize("project", learning.PROJECTS)
def test_no_project_is_a_source_of_the_shipped_rules(project: str) -> None:
    table = resources.files("velospec.learning") / "packs" / "SOURCES.md"
    sources = [line.split("|")[1].strip().lower() for line in table.read_text().splitlines() if "|" in line]
    assert "attrs" in sources
    assert project.lower().replace("_", "-") not in {source.replace("_", "-") for source in sources}
