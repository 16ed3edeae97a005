"""The window of text around the cursor that the model and the filters see."""

from __future__ import annotations

import pytest

from tests.support.sites import query_at
from velospec_lsp.completion.site import site_of


@pytest.mark.parametrize(
    ("length", "limit"), [(40, 100), (5_000, 4_000), (200_000, 4_000), (100_000, 500), (3_000, 100)]
)
def test_the_window_keeps_its_start_while_the_user_types(length: int, limit: int) -> None:
    lines = [f"line {number} of it\n" for number in range(length // 15)]
    starts = set()
    for typed in range(40):
        asked = query_at("".join(lines) + "x" * typed + "^\nrest\n" * 3)
        found = site_of(asked, limit, limit)
        assert found is not None
        assert len(found.prefix) <= limit
        assert found.prefix.endswith("it\n" + "x" * typed)
        starts.add(found.prefix[:30].rstrip("x"))
    assert len(starts) <= (2 if limit > 1000 else 3)


def test_a_line_too_long_for_the_window_is_cut_in_strides() -> None:
    found = [site_of(query_at("y" * 50_000 + "x" * typed + "^"), 4_000, 1_000) for typed in range(50)]
    sizes = [len(each.prefix) for each in found if each]
    assert all(0 < size <= 4_000 for size in sizes)
    assert len({size - typed for typed, size in enumerate(sizes)}) <= 2


def test_the_suffix_is_cut_at_its_limit() -> None:
    found = site_of(query_at("a^b\r\n" + "c\r\n" * 500), 100, 7)
    assert found is not None
    assert found.suffix == "b\nc\nc\nc"[:7]


@pytest.mark.parametrize(("lines", "whole"), [(3, True), (900, False)])
def test_the_site_tells_whether_its_window_holds_the_start(lines: int, whole: bool) -> None:
    found = site_of(query_at("line\n" * lines + "^"), 1_000, 100)
    assert found is not None
    assert found.from_start is whole
