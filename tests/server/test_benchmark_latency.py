"""The suite `latency`: its figures, the rival's windows and stop rules, and what is typed where."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from velospec.models.store import InstalledModel
from velospec_cli.benchmark import report
from velospec_cli.benchmark.suites import latency
from velospec_cli.benchmark.suites.latency_figures import Kind, Row, percentiles, summarize
from velospec_cli.benchmark.suites.latency_rival import (
    LINES_BEFORE,
    LINES_BEHIND,
    fill,
    read_answer,
    window,
)
from velospec_cli.demo_client import Answer


def row(kind: Kind, ms: float, **more: float) -> Row:
    counts = {"prompt_tokens": 100, "reused_tokens": 90, "model_calls": 1} if kind is Kind.WARM else {}
    return Row("a.py:1", kind, ms, offered=True, **counts, **more)  # type: ignore[arg-type]  # numbers all


def test_percentiles() -> None:
    assert percentiles([7.0]) == {"p50_ms": 7.0, "p90_ms": 7.0, "p99_ms": 7.0}
    assert percentiles([float(ms) for ms in range(101)]) == {"p50_ms": 50.0, "p90_ms": 90.0, "p99_ms": 99.0}


def test_the_rival_is_compared_on_the_same_requests() -> None:
    rows = [row(Kind.WARM, ms, rival_ms=3 * ms, rival_line_ms=2 * ms) for ms in (10.0, 20.0, 30.0)]
    rows += [row(Kind.WARM, 1000.0), row(Kind.COLD, 500.0, rival_ms=1.0), row(Kind.TYPED, 2.0)]
    summary = summarize(rows)
    assert (summary["vs_rival_p50"], summary["vs_rival_p90"]) == (3.0, 3.0)
    assert (summary["vs_rival_first_line_p50"], summary["rival"]["requests"]) == (2.0, 3)
    assert summary["warm"] == {"requests": 4, "p50_ms": 25.0, "p90_ms": 709.0, "p99_ms": 970.9}
    assert summary["prefix_reused"] == 0.9
    assert (summary["typed_through_p50_ms"], summary["typed_through_model_calls"]) == (2.0, 0)
    assert "superseded" not in summary


def test_a_call_of_the_model_while_typing_through_is_counted() -> None:
    asked = Row("a.py:1", Kind.TYPED, 80.0, offered=True, model_calls=1)
    summary = summarize([row(Kind.TYPED, 2.0), asked])
    assert summary["typed_through_model_calls"] == 1
    assert summary["prefix_reused"] is None
    assert asked.to_dict() == {
        "place": "a.py:1", "kind": "typed", "ms": 80.0, "offered": True, "model_calls": 1, "prompt_tokens": 0,
        "reused_tokens": 0, "new_tokens": 0, "steps": 0,
    }  # fmt: skip


def test_what_the_terminal_shows(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console  # noqa: PLC0415 - made here, to write where the test reads

    rows = [row(Kind.WARM, 10.0, rival_ms=25.0, rival_line_ms=20.0), row(Kind.TYPED, 2.0)]
    Console(width=120).print(report.latency(summarize(rows)))
    told = capsys.readouterr().out
    assert "2.50x of the rival at the median, 2.50x at the 90th percentile; to its first line 2.00x" in told
    assert "90.0% of the prompts' tokens were in the KV cache. The model was asked 0 times" in told


def test_the_rivals_window() -> None:
    lines = [f"line {number}" for number in range(1000)]
    text = "\n".join(lines)
    index = text.index("line 500") + 4
    before, behind = window(text, index)
    assert before == "\n".join([*lines[500 - LINES_BEFORE : 500], "line"])
    assert behind == "\n".join([" 500", *lines[501 : 501 + LINES_BEHIND]])
    assert window("ab", 1) == ("a", "b")


def test_the_rivals_prompt() -> None:
    template = "<a>{suffix}<b>{header}{prefix}"
    assert fill(template, prefix="{suffix}", suffix="{x}", header="h\n") == "<a>{x}<b>h\n{suffix}"


def pieces(*texts: str | float) -> Iterator[str]:
    """The texts; a number is seconds that pass before the next."""
    for text in texts:
        if isinstance(text, str):
            yield text
        else:
            time.sleep(text)


@pytest.mark.parametrize(
    ("texts", "line", "expected"),
    [
        (("a", "b", "\n", "c"), "", "ab\nc"),  # to the end of the model's
        (("a\n", "    b", "\nc", "d"), "    x", "a\n    b\nc"),  # less indented
        (("a\n", "\n", "    b"), "    x", "a\n\n    b"),  # blank lines end nothing
        (("a", 0.3, "b", "c\n", "d"), "", "abc\n"),  # the line that is complete when the time is over
        (("a\n", 0.3, "b", "c"), "", "a\nb"),
        ((), "", ""),
    ],
)
def test_the_rivals_stop_rules(texts: tuple[str | float, ...], line: str, expected: str) -> None:
    answer = read_answer(pieces(*texts), line, time.perf_counter())
    assert answer.text == expected
    assert answer.tokens <= sum(isinstance(text, str) for text in texts)
    assert 0 <= answer.line_seconds <= answer.seconds


def test_places_are_in_the_libraries_and_typed_in_one_line() -> None:
    places = latency.load_places()
    assert len(places) >= 24
    assert all("\n" not in place.author[:8] for place in places)
    assert len({place.name for place in places}) == len(places)


class Editor:
    """Remembers what is typed."""

    def __init__(self) -> None:
        self.typed: list[tuple[str, int, str]] = []

    def open(self, file: str, _language: str, text: str) -> None:
        self.typed.append((file, 0, text))

    def type(self, file: str, index: int, new: str) -> None:
        self.typed.append((file, index, new))


def test_what_is_left_of_an_offer_is_told_by_where_it_began() -> None:
    editor = Editor()
    place = latency.Place("lib/a.py:2", "x\nret", "urn", "\nz")
    desk = latency.Desk.open(editor, place, 3)  # type: ignore[arg-type]  # all that a desk needs to be typed at
    desk.type("u")
    assert editor.typed == [("3/a.py", 0, "x\nret\nz"), ("3/a.py", 5, "u")]
    assert (desk.text, desk.index) == ("x\nretu\nz", 6)
    assert desk.rest(Answer("return x\n", 0, 4, 0.1)) == "rn x"
    assert desk.rest(Answer("rn", 4, 4, 0.1)) == "rn"


@pytest.mark.model
@pytest.mark.slow
def test_the_real_server_at_one_place(default_model: InstalledModel) -> None:
    pytest.importorskip("llama_cpp.server.app", reason="the rival needs velospec[benchmark]")
    document = latency.run_latency(default_model, 1, 2, lambda *_: None)
    summary = document["summary"]
    assert document.keys() == {"suite", "machine", "versions", "model", "summary", "rows"}
    assert summary["typed_through_model_calls"] == 0
    assert summary["cold"]["requests"] == summary["places"] == 1
    assert all(row["model_calls"] == (row["kind"] in ("cold", "warm")) for row in document["rows"])
    warm = [row for row in document["rows"] if row["kind"] == "warm"]
    assert all(row["reused_tokens"] > 0.9 * row["prompt_tokens"] for row in warm[1:])
    assert all(row["rival_ms"] >= row["rival_line_ms"] for row in warm)
