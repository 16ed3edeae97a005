"""Answers that were not shown: typed along they are served from what is left, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from velospec.core.request import Completion, FinishReason
from velospec.core.statistics import Statistics
from velospec_lsp.completion import answers
from velospec_lsp.completion.answers import Answers, without
from velospec_lsp.completion.extent import Extent
from velospec_lsp.completion.running import Run
from velospec_lsp.completion.site import Query, site_of
from velospec_lsp.completion.work import Work
from velospec_lsp.documents import Documents
from velospec_lsp.settings import Settings
from velospec_lsp.text import Place

URI = "file:///project/a.py"
TEXT = "value + 1"
ANSWER = Completion(
    TEXT, (1, 2, 3), FinishReason.LINES, Statistics(steps=3), (-1.0, -2.0, -3.0), (5, 7, 9), -0.5
)


def work_at(typed: str, *, behind: str = "\nz\n", uri: str = URI, lines: int = 1) -> Work:
    before = "x = " + typed
    document = Documents().open(uri, "python", 1, before + behind)
    query = Query(document, Place(0, len(before)))
    site = site_of(query, 4000, 1000)
    assert site is not None
    return Work(query, Settings(), site, Run(query), Extent(lines))


def answered(completion: Completion = ANSWER, typed: str = "") -> Answers:
    kept = Answers()
    work = work_at(typed)
    work.completion = completion
    kept.put(work)
    return kept


@given(st.integers(0, len(TEXT) - 1))
def test_typed_along_the_rest_is_served(count: int) -> None:
    rest = answered().rest(work_at(TEXT[:count]))
    assert rest is not None
    assert rest.text == TEXT[count:]
    assert rest.statistics == Statistics()
    assert len(rest.token_ids) == len(rest.log_probs) == len(rest.ends)
    assert rest.ends[-1] == len(rest.text)
    assert (rest.finish, rest.end_log_prob) == (ANSWER.finish, ANSWER.end_log_prob)


@pytest.mark.parametrize(
    ("count", "ids", "ends"), [(4, (1, 2, 3), (1, 3, 5)), (5, (2, 3), (2, 4)), (8, (3,), (1,))]
)
def test_tokens_that_are_typed_wholly_are_gone(
    count: int, ids: tuple[int, ...], ends: tuple[int, ...]
) -> None:
    rest = without(ANSWER, count)
    assert (rest.token_ids, rest.ends) == (ids, ends)
    assert rest.log_probs == ANSWER.log_probs[3 - len(ids) :]


def test_without_probabilities_the_text_is_enough() -> None:
    bare = replace(ANSWER, log_probs=(), ends=())
    assert (without(bare, 3).text, without(bare, 3).log_probs) == (TEXT[3:], ())


def test_what_is_no_typing_along() -> None:
    kept = answered()
    assert kept.rest(work_at("w")) is None
    assert kept.rest(work_at(TEXT)) is None  # nothing is left
    assert kept.rest(work_at("va", behind="\nother\n")) is None
    assert kept.rest(work_at("va", uri="file:///project/b.py")) is None
    assert kept.rest(work_at("va", lines=12)) is None
    other = work_at("va")
    other.settings = Settings(max_tokens=5)
    assert kept.rest(other) is None


def test_what_ran_out_of_time_is_asked_for_again() -> None:
    kept = answered(replace(ANSWER, finish=FinishReason.DEADLINE))
    assert kept.rest(work_at("va")) is None


def test_only_the_last_answer_counts_and_closing_forgets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_DOCUMENTS", 2)
    kept = answered()
    assert kept.rest(work_at("v")) is not None
    for number in range(2):
        work = work_at("", uri=f"file:///project/{number}.py")
        work.completion = ANSWER
        kept.put(work)
    assert kept.rest(work_at("v")) is None
    kept.closed(work.query.document)
    assert kept.rest(work_at("v", uri="file:///project/1.py")) is None
    assert kept.rest(work_at("v", uri="file:///project/0.py")) is not None
