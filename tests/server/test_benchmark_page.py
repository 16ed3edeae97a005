"""The page of benchmarks shows the results in the repository, and these hold what the page claims of them."""

from __future__ import annotations

import re

from tests.benchmarks.tables import FIRST_VELOSPEC, PAGE, PUBLISHED, STRUCTURED, SUITES, load, pages
from velospec_cli.benchmark.suites.registry import find_suite
from velospec_cli.benchmark.suites.schemas import KINDS


def test_the_tables_are_those_of_the_results() -> None:
    for path, text in pages().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run python -m tests.benchmarks.tables"


def test_every_suite_has_its_results_and_tables() -> None:
    assert set(load()) >= set(SUITES) - set(STRUCTURED)
    text = PAGE.read_text("utf-8")
    empty = re.findall(r"<!-- begin (\S+) -->\s*<!-- end", text)
    assert empty == []


def test_all_outputs_of_the_results_are_identical() -> None:
    for document in load().values():
        assert all(row["identical"] for row in document["rows"])
        count = len(document["rows"])
        assert document["summary"]["identical"] == f"{count}/{count}"


def test_each_row_is_of_a_prompt_of_its_suite() -> None:
    for suite in ("code", "humaneval", "editing"):
        names = {prompt.name for prompt in find_suite(suite).prompts()}
        assert {row["prompt"] for row in load()[suite]["rows"]} <= names


def test_the_first_velospecs_types_of_schema_are_those_of_the_suite() -> None:
    assert set(FIRST_VELOSPEC) == set(KINDS)


def test_structspecs_prompts_have_one_of_ours_beside_them() -> None:
    assert set(PUBLISHED) <= {prompt.name for prompt in find_suite("code").prompts()}
