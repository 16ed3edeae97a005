"""The suite `quality`: where its cursors stand, how an offer is judged, and what the figures are of."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from velospec.core.request import Completion, FinishReason, InfillRequest
from velospec.core.statistics import Statistics
from velospec_cli.benchmark import report
from velospec_cli.benchmark.suites import quality_sources
from velospec_cli.benchmark.suites.quality import SETTINGS, Judge, Row
from velospec_cli.benchmark.suites.quality_figures import curve, figures, summarize
from velospec_cli.benchmark.suites.quality_places import KINDS, Place, SourceFile, places
from velospec_cli.benchmark.suites.quality_score import (
    Change,
    is_begun_right,
    is_right,
    is_unbalanced,
    repeats,
    survival,
)

BODY = "".join(
    f"    def method_{number}(self, value, other):\n"
    f"        # what number {number} is for\n"
    f"        result = self.compute(value, {number})\n\n"
    f"        return result.combine(other[{number}])\n\n"
    for number in range(20)
)
FILE = SourceFile("lib/a.py", "python", "class A:\n" + BODY)


def made(kind: str, count: int = 5) -> list[Place]:
    return places([FILE], {kind: count}, per_file=count)


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_is_the_authors_file_with_something_taken_out(kind: str) -> None:
    found = made(kind)
    assert len(found) == (3 if kind == "closed" else 5)  # few lines have a bracket open in their first half
    for place in found:
        assert place.before + place.truth + place.rest == FILE.text
        assert place.after == place.closers + place.rest
        line, column = map(int, place.name.rsplit(":", 2)[1:])
        assert (line, column) == (place.before.count("\n") + 1, len(place.before) - place.before.rfind("\n"))
        assert place.before.count("\n") >= 30
        assert place.rest.count("\n") >= 10 - place.truth.count("\n")
        assert place.following.split("\n")[0] == FILE.text.split("\n")[line]


def test_what_is_taken_out_is_of_the_kind() -> None:
    assert all(place.truth and "\n" not in place.truth for place in made("word"))
    assert all(place.before.endswith("    ") and place.truth[0] != " " for place in made("start"))
    assert {place.closers for place in made("closed")} <= {")", "]", "])", ")]"}
    assert any("\n" in place.truth for place in made("block"))
    assert all("# what" in place.before.rpartition("\n")[2] + place.truth for place in made("prose"))
    assert all(place.truth == "" and place.after[0] == "\n" for place in (*made("end"), *made("empty")))
    assert all(place.before[-1] == "\n" for place in made("empty"))


def test_a_word_is_begun_in_the_first_half_of_its_line() -> None:
    for place in made("word", 20):
        begun = place.before.rpartition("\n")[2].lstrip()
        assert 0 < len(begun) <= len(begun + place.truth) // 2


def test_places_are_the_same_each_time_and_follow_the_counts() -> None:
    counts = {"word": 3, "prose": 2}
    assert places([FILE], counts) == places([FILE], counts)
    assert [place.kind for place in places([FILE], counts)] == ["word"] * 3 + ["prose"] * 2
    assert len(places([FILE], {"word": 9}, per_file=2)) == 2


def test_a_file_that_python_cannot_read_gives_no_places() -> None:
    assert places([replace(FILE, text=FILE.text + '"""')], {"word": 3}) == []


def test_the_suite_has_the_places_that_it_says() -> None:
    found, _ = quality_sources.load()
    words = [place for place in found if (place.kind, place.language) == ("word", "python")]
    standard = [place for place in words if place.library == quality_sources.STANDARD_LIBRARY]
    assert (len(standard), len(words) - len(standard)) == (200, 200)
    assert len({(place.name, place.kind) for place in found}) == len(found) >= 980
    assert quality_sources.spread(found, 7)[0] == found[0]
    assert len(quality_sources.spread(found, 7)) == 7


PLACE = Place(
    name="lib/a.py:2:9",
    kind="word",
    language="python",
    before="def f(a):\n    return",
    after="\n\n\ndef g(a):\n    return f(a)\n",
    truth=" (a + 1)",
    following="\n\ndef g(a):\n    return f(a)",
)
CLOSED = replace(
    PLACE, before="x = 1\nprint(", after=")\ny = 2\n", truth="x)", closers=")", following="y = 2"
)


def over(place: Place, text: str, replaced: int = 0) -> Change:
    return Change(place.before, text, place.after[replaced:])


@pytest.mark.parametrize(
    ("place", "text", "replaced", "right"),
    [
        (PLACE, " (a + 1)", 0, True),
        (PLACE, " (a + 1)\n\n\ndef h(): ...", 0, True),
        (PLACE, " (a + 1) ", 0, True),
        (PLACE, " a + 1", 0, False),
        (PLACE, " (a + 1) * 2", 0, False),
        (CLOSED, "x", 0, True),
        (CLOSED, "x)", 1, True),
        (CLOSED, "x)", 0, False),
    ],
)
def test_an_offer_is_right_where_its_line_is_the_authors(
    place: Place, text: str, replaced: int, right: bool
) -> None:
    assert is_right(over(place, text, replaced), place) is right


@pytest.mark.parametrize(
    ("text", "begun"), [(" (b)", True), ("(", False), (" a", False), ("", False), (" (", True)]
)
def test_the_first_word_or_sign(text: str, begun: bool) -> None:
    assert is_begun_right(text, PLACE) is begun


def test_how_much_survives() -> None:
    assert survival(over(PLACE, " (a + 1)"), PLACE) == 1.0
    assert survival(over(PLACE, " zzz"), PLACE) == 0.0
    assert survival(over(PLACE, " (a - 1)"), PLACE) == pytest.approx(4 / 5)
    assert survival(over(PLACE, " (a + 1)\n\n\ndef g(a):"), PLACE) == 1.0


@given(st.text("ab( \n1", max_size=20))
def test_survival_is_a_share(text: str) -> None:
    assert 0.0 <= survival(over(PLACE, text), PLACE) <= 1.0


BELOW = replace(PLACE, before="a = 1\nvalue =", after="\nother = compute(b)\n", truth=" compute(a)")


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        (BELOW, " compute(a)", False),
        (BELOW, " compute(a)\nother = compute(b)", True),
        (BELOW, " compute(a)\nother", False),
        (replace(BELOW, before="value = 1\nvalue ="), " 1", True),
        (replace(BELOW, before="value = 1\nvalue =", truth=" 1"), " 1", False),
        (replace(BELOW, after=" compute(b)\n", truth=" 1 +"), " compute(b)", True),
        (replace(BELOW, after="\n)\n"), " (\n)", False),
    ],
)
def test_what_repeats_its_neighbours(place: Place, text: str, expected: bool) -> None:
    assert repeats(over(place, text), place) is expected


SCRIPT = replace(PLACE, language="javascript", before="let a =", after="\n", truth=" 1;")


@pytest.mark.parametrize(
    ("place", "text", "unbalanced"),
    [
        (PLACE, " f(a)", False),
        (PLACE, " f(a", True),
        (PLACE, " a)", True),
        (PLACE, " 'a", True),
        (PLACE, " a  # it's (", False),
        (PLACE, " f(\n    a", False),  # of several lines
        (CLOSED, "f(x)", False),
        (CLOSED, "f(x))", True),
        (replace(PLACE, after="\n    )\n"), " f(", False),
        (replace(PLACE, before='"""\nIt', after=' is."""\n', truth=" (all)"), " isn't (", False),
        (replace(PLACE, truth=" f(a"), " g(a", False),  # the author's own is
        (SCRIPT, " `${b}(`;", False),
        (SCRIPT, " f(); // it's (", False),
        (SCRIPT, " f(;", True),
    ],
)
def test_what_has_no_partner(place: Place, text: str, unbalanced: bool) -> None:
    assert is_unbalanced(over(place, text), place) is unbalanced


class Answers:
    """Answers as written, and remembers how often it was asked."""

    def __init__(self, text: str, log_prob: float) -> None:
        ids, ends = tuple(range(len(text))), tuple(range(1, len(text) + 1))
        logs = (log_prob,) * len(text)
        self.last: Completion | None = Completion(
            text, ids, FinishReason.END, Statistics(), logs, ends, log_prob
        )

    async def infill(self, _request: InfillRequest, **_options: object) -> Completion:
        assert self.last is not None
        return self.last

    def forget(self) -> None:
        """Nothing is kept."""


def judged(text: str, log_prob: float, place: Place = PLACE) -> Row:
    judge = Judge(Answers(text, log_prob))  # type: ignore[arg-type]  # all that it needs of an engine
    return asyncio.run(judge.row(place))


def test_a_row_has_what_is_shown_and_what_an_open_gate_would_show() -> None:
    sure = judged(" (a + 1)", -0.001)
    assert (sure.bare, sure.stage, sure.shown == sure.open) == (True, "offer", True)
    assert sure.shown is not None
    assert (sure.shown["right"], sure.shown["survival"], sure.shown["lines"]) == (True, 1.0, 1)
    unsure = judged(" (a - 1)", -4.0)
    assert (unsure.bare, unsure.stage, unsure.shown) == (False, "quiet", None)
    assert unsure.open is not None
    assert not unsure.open["right"]
    assert unsure.confidence is not None
    assert 100 * unsure.confidence < SETTINGS.min_confidence
    nothing = judged("", -4.0)
    assert (nothing.bare, nothing.open, nothing.confidence) == (None, None, None)


def test_with_closers_the_offer_may_replace_them() -> None:
    assert judged("x)", -0.001, CLOSED).shown == judged("x", -0.001, CLOSED).shown | {"survival": 1.0}  # type: ignore[operator]  # an offer, or the test fails


def offer(right: int, **marks: Any) -> dict[str, Any]:
    plain = {"begun": bool(right), "survival": 1.0, "repeats": False, "unbalanced": False, "lines": 1}
    return {"right": bool(right), **plain, **marks}


def row(at: str, bare: int | None, gate: tuple[Any, Any], stage: str, confidence: float | None) -> Row:
    kind = "end" if gate[0] is None and gate[1] else "word"
    told = None if bare is None else bool(bare)
    return Row(at, kind, "python", told, *gate, stage, confidence)


ROWS = [
    row("stdlib/a.py:1:1", 1, (offer(1), offer(1)), "offer", 0.9),
    row("stdlib/a.py:2:1", 0, (offer(0), None), "quiet", 0.1),
    row("lib/a.py:3:1", 0, (offer(0), offer(0, unbalanced=True)), "offer", 0.3),
    row("lib/a.py:4:1", 1, (offer(1), None), "quiet", 0.15),
    row("lib/a.py:5:1", None, (None, None), "filters", None),
    row("lib/a.py:6:1", 0, (None, offer(0, repeats=True, lines=2)), "offer", None),
]


def test_figures_are_of_lines_of_python_and_of_all_places() -> None:
    summary = summarize(ROWS)
    assert (summary["places"], summary["positions"]) == (5, 6)
    assert (summary["show_rate"], summary["exact_line"], summary["exact_of_all"]) == (0.4, 0.5, 0.2)
    assert (summary["quiet_rate"], summary["right_shown"], summary["bare_right"]) == (0.5, 0.5, 0.4)
    assert (summary["duplicates"], summary["unbalanced"]) == (1, 0.5)
    assert summary["sources"]["standard library"]["quiet_rate"] == 1.0
    assert summary["sources"]["packages"]["show_rate"] == pytest.approx(1 / 3, abs=1e-4)
    assert list(summary["kinds"]) == ["python end"]
    assert figures([])["show_rate"] is None


def test_the_curve_is_of_what_an_open_gate_lets_through() -> None:
    open_gate, middle, closed = curve(ROWS[:5], (0, 20, 95))
    assert (open_gate.show_rate, open_gate.exact_line) == (0.8, 0.5)
    assert (middle.show_rate, middle.quiet_rate, middle.right_shown) == (0.4, 0.5, 0.5)
    assert (closed.show_rate, closed.quiet_rate, closed.right_shown) == (0.0, 1.0, 0.0)
    assert (open_gate.quiet_rate, open_gate.right_shown) == (0.0, 1.0)


def test_the_table_names_all_groups(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"summary": summarize(ROWS), "machine": {"warnings": ["Without JavaScript."]}}
    Console(width=120).print(report.quality(document))
    shown = capsys.readouterr().out
    for text in (
        "lines of Python",
        "packages",
        "standard library",
        "python end",
        "40.0%",
        "Without JavaScript.",
    ):
        assert text in shown
    assert "1 of 6 places" in shown
