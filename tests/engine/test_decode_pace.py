"""The pace of reading a prompt: a slow machine looks at the deadline after fewer ids."""

from __future__ import annotations

import pytest

from velospec.decode.pace import Pace


def test_starts_with_the_most() -> None:
    assert Pace(64).ids == 64


@pytest.mark.parametrize(
    ("seconds", "ids"), [(0.1, 64), (0.25, 64), (0.5, 32), (1.0, 16), (60.0, 8), (0.0, 64)]
)
def test_reads_what_a_quarter_second_affords(seconds: float, ids: int) -> None:
    pace = Pace(64)
    pace.observe(64, seconds)
    assert pace.ids == ids


def test_recovers_by_doubling() -> None:
    pace = Pace(64)
    pace.observe(64, 60.0)
    seen = []
    for _ in range(4):
        pace.observe(pace.ids, 0.001)
        seen.append(pace.ids)
    assert seen == [16, 32, 64, 64]


def test_a_short_rest_of_a_prompt_is_no_reason_to_slow_down() -> None:
    pace = Pace(64)
    pace.observe(4, 0.01)
    assert pace.ids == 64


def test_a_small_most_is_kept() -> None:
    pace = Pace(3)
    pace.observe(3, 9.0)
    assert pace.ids == 3
