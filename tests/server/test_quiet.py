"""The quiet gate: what it finds in a completion, what it lets through, and where its weights come from."""

from __future__ import annotations

import asyncio
import json
import math
import runpy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.repository import ROOT
from tests.support.sites import query_at, site_at
from velospec.core.errors import VeloSpecError
from velospec.core.request import Completion, FinishReason, InfillRequest
from velospec.core.statistics import Statistics
from velospec_lsp.completion.offer import Outcome, Silence
from velospec_lsp.completion.pipeline import Pipeline
from velospec_lsp.completion.quiet import FEATURES, Weights, measure, shipped
from velospec_lsp.completion.trace import Trace
from velospec_lsp.settings import Settings

SURE, UNSURE = -0.01, -4.0
PLACE = query_at("total = price * 2\n^")


def written(*pieces: tuple[str, float], end: float = SURE) -> Completion:
    """A completion of pieces, each with the logarithm of its probability."""
    text = "".join(piece for piece, _ in pieces)
    ends = [sum(len(piece) for piece, _ in pieces[: count + 1]) for count in range(len(pieces))]
    logs = tuple(log for _, log in pieces)
    ids = tuple(range(len(pieces)))
    return Completion(text, ids, FinishReason.END, Statistics(), logs, tuple(ends), end)


def test_what_is_found_in_a_line() -> None:
    completion = written((".join", -0.5), ("(a", -1.0), (")", -0.25), end=-0.125)
    found = measure(completion, completion.text, site_at("x = ''^\n"))
    assert tuple(found) == FEATURES
    assert found == {
        "total": -1.75,
        "mean": -1.75 / 3,
        "second_least": -0.5,
        "first": -0.5,
        "ended": -0.125,
        "whole": math.exp(-1.875),
        "cut": 0.0,
        "tokens": math.log1p(3),
        "lines": 0.0,
        "length": math.log1p(8),
        "typed": math.log1p(6),
        "at_start": 0.0,
        "comment": 0.0,
        "below": 0.0,
    }


def test_only_the_first_line_counts_and_the_next_token_is_its_end() -> None:
    completion = written(("a", -1.0), ("\n    ", -2.0), ("b", -8.0))
    found = measure(completion, "a\n    b", site_at("if x:\n    ^\n"))
    assert (found["total"], found["ended"], found["lines"], found["at_start"]) == (-1.0, -2.0, 1.0, 1.0)


def test_a_token_over_the_line_end_counts_to_the_line() -> None:
    found = measure(written(("a", -1.0), (")\n", -2.0), ("b", -8.0)), "a)\nb", site_at("f(^\n"))
    assert (found["total"], found["ended"]) == (-3.0, -8.0)


def test_what_a_filter_has_cut_has_no_end_of_its_own() -> None:
    completion = written(("a", -1.0), (", ", -2.0), ("b)", -3.0))
    found = measure(completion, "a", site_at("f(^)\n"))
    assert (found["total"], found["cut"], found["ended"], found["whole"]) == (-1.0, 1.0, 0.0, math.exp(-1.0))


def test_what_a_filter_has_taken_off_the_front_does_not_count() -> None:
    completion = written(("    ", -1.0), ("return", -0.5), end=-0.25)
    assert measure(completion, "return", site_at("def f():\n    ^\n"))["total"] == -0.5


@pytest.mark.parametrize(
    ("marked", "language", "name", "value"),
    [
        ("# a note on^\n", "python", "comment", 1.0),
        ("// a note on^\n", "javascript", "comment", 1.0),
        ("// a note on^\n", "python", "comment", 0.0),
        ("value^\nvalue(b)\n", "python", "below", 0.0),
        ("value^\n\n    (b)\n", "python", "below", 1.0),
        ("    value^\n", "python", "typed", math.log1p(5)),
    ],
)
def test_what_is_found_of_the_place(marked: str, language: str, name: str, value: float) -> None:
    completion = written(("(b)" if "    (b)" in marked else "(c)", -0.1))
    assert measure(completion, completion.text, site_at(marked, language))[name] == value


@given(
    st.lists(
        st.tuples(st.text("ab (\n", min_size=1, max_size=4), st.floats(-9999, 0)), min_size=1, max_size=9
    ),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_confidence_is_a_probability_and_grows_with_what_is_wanted(
    pieces: list[tuple[str, float]], one: float, other: float
) -> None:
    completion = written(*pieces)
    features = measure(completion, completion.text, site_at("x = ^\n"))
    less, more = sorted((one, other))
    low, high = (shipped().confidence(features, wanted) for wanted in (less, more))
    assert 0 < low <= high < 1 or 0 <= low <= high < 1e-9 or 1 - 1e-9 < low <= high <= 1


def test_confidence_is_what_the_weights_say() -> None:
    weights = Weights(-1.0, {"total": 0.5, "cut": -2.0})
    features = {"total": -2.0, "cut": 1.0, "mean": 7.0}
    assert weights.confidence(features) == pytest.approx(1 / (1 + math.exp(4.0)))
    assert weights.confidence(features, wanted=0.8) == pytest.approx(1 / (1 + math.exp(4.0) / 2))


def test_the_weights_are_those_of_the_data() -> None:
    """What ships is what the script makes of the data that the repository keeps."""
    script = runpy.run_path(str(ROOT / "scripts" / "fit_quiet.py"))
    data = json.loads((ROOT / "tests" / "benchmarks" / "results" / "quiet_fit.json").read_text("utf-8"))
    fitted = script["fit"](data)
    assert tuple(data["features"]) == FEATURES == tuple(fitted["weights"])
    assert shipped().bias == pytest.approx(fitted["bias"], abs=2e-4)
    assert shipped().weights == pytest.approx(fitted["weights"], abs=2e-4)


class Writer:
    """Answers each request with the same completion."""

    def __init__(self, answer: Completion) -> None:
        self.answer = answer
        self.asked: list[InfillRequest] = []

    async def infill(self, request: InfillRequest, **_options: object) -> Completion:
        self.asked.append(request)
        return self.answer


def fail(error: VeloSpecError) -> None:
    raise error


def offered(
    answer: Completion, trace: Trace | None = None, *, manual: bool = False, **settings: Any
) -> Outcome:
    pipeline = Pipeline(Writer(answer), fail)
    pipeline.settings = replace(Settings(), **settings)
    return asyncio.run(pipeline.complete(replace(PLACE, manual=manual), trace))


LIKELY = written(("print", SURE), ("(", SURE), ("total", SURE), (")", SURE))
UNLIKELY = written(("print", UNSURE), ("(", UNSURE), ("total", UNSURE), (")", UNSURE), end=UNSURE)


def test_what_is_likely_is_shown_and_what_is_not_is_not() -> None:
    assert not isinstance(offered(LIKELY), Silence)
    trace = Trace()
    silence = offered(UNLIKELY, trace)
    assert silence == Silence("The model is not sure enough: 0 % (velospec.minConfidence asks for 20 %).")
    assert trace.last == "quiet"
    assert trace.notes["quiet"] == "confidence 0 of 100, 20 asked for"


def test_what_the_user_asks_for_is_shown_whatever_it_is() -> None:
    assert not isinstance(offered(UNLIKELY, manual=True), Silence)


def test_the_setting_decides() -> None:
    assert not isinstance(offered(UNLIKELY, min_confidence=0), Silence)
    assert isinstance(offered(LIKELY, min_confidence=100), Silence)


def test_what_comes_without_probabilities_is_shown() -> None:
    assert not isinstance(offered(replace(UNLIKELY, log_probs=(), ends=())), Silence)


def test_silence_is_not_remembered_as_something_to_show() -> None:
    writer = Writer(UNLIKELY)
    pipeline = Pipeline(writer, fail)
    for _ in range(2):
        assert isinstance(asyncio.run(pipeline.complete(PLACE)), Silence)
    assert len(writer.asked) == 1  # the answer is known, and judged anew
