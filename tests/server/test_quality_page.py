"""The page of quality shows the result in the repository, and this one holds what the page claims."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.benchmarks.quality_page import PAGE, PICTURE, load, page, picture, rows_of
from tests.benchmarks.tables import RESULTS
from velospec_cli.benchmark.suites.quality import Row
from velospec_cli.benchmark.suites.quality_figures import curve, figures, of, summarize, words
from velospec_lsp.settings import Settings

DOCUMENT = load()
ROWS = rows_of(DOCUMENT)


def test_the_page_is_that_of_the_result() -> None:
    text = PAGE.read_text("utf-8")
    assert page(DOCUMENT, text) == text, "run python -m tests.benchmarks.quality_page"
    assert PICTURE.read_text("utf-8") == picture(DOCUMENT), "run python -m tests.benchmarks.quality_page"


def test_the_summary_is_that_of_the_rows() -> None:
    assert summarize(ROWS) == DOCUMENT["summary"]
    assert DOCUMENT["settings"]["min_confidence"] == Settings().min_confidence


@pytest.mark.parametrize("source", ["standard library", "packages"])
def test_what_is_shown_by_default_is_right_and_what_is_wrong_is_hidden(source: str) -> None:
    found = DOCUMENT["summary"]["sources"][source]
    assert found["places"] == 200
    assert found["exact_line"] >= 0.55
    assert found["quiet_rate"] >= 0.70
    assert found["right_shown"] >= 0.80


def test_no_lower_threshold_but_one_does_that() -> None:
    def good(threshold: int) -> bool:
        points = [curve(of(words(ROWS), name), (threshold,))[0] for name in DOCUMENT["summary"]["sources"]]
        return all(point.exact_line >= 0.55 and point.quiet_rate >= 0.70 for point in points)

    assert min(filter(good, range(100))) == Settings().min_confidence - 1


def test_nothing_is_shown_twice_and_lines_are_whole() -> None:
    assert DOCUMENT["summary"]["positions"] == len(ROWS) >= 1000
    assert DOCUMENT["summary"]["duplicates"] == 0
    assert DOCUMENT["summary"]["unbalanced"] < 0.01


def test_the_picture_is_svg_with_a_curve_and_a_dot_for_each_source() -> None:
    tree = ET.fromstring(picture(DOCUMENT))  # noqa: S314 - our own
    names = [element.tag.rpartition("}")[2] for element in tree.iter()]
    assert names.count("circle") == 4
    drawn = [element.get("d", "") for element in tree.iter() if element.get("stroke-width") == "2"]
    assert len(drawn) == 4
    assert all(0 <= float(number) <= 300 for path in drawn for number in path[1:].replace("L", " ").split())


@pytest.mark.parametrize(
    ("kind", "first"), [("border", "anywhere in the line"), ("word", "in its first half")]
)
def test_the_figures_of_the_engine_itself_are_those_of_its_rows(kind: str, first: str) -> None:
    rows = [Row(**row) for row in json.loads((RESULTS / "quality_words.json").read_text("utf-8"))["rows"]]
    found = figures([row for row in rows if row.kind == kind])
    rates = (found[name] for name in ("show_rate", "exact_line", "quiet_rate", "right_shown"))
    assert f"| {first} | 20 | {' | '.join(f'{rate:.1%}' for rate in rates)} |" in PAGE.read_text("utf-8")
