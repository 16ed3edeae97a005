"""What may be asked of sampling, and how wrong values are refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from velospec.core.errors import SettingsError
from velospec.core.request import InfillRequest, Sampling, TextRequest


def test_nothing_asked_is_greedy() -> None:
    assert TextRequest("doc", "x").sampling == InfillRequest("doc", "x", "").sampling == Sampling()
    assert Sampling().plain


@pytest.mark.parametrize(
    ("settings", "plain"),
    [
        ({"top_k": 5, "top_p": 0.5, "min_p": 0.1, "seed": 3}, True),
        ({"repetition_penalty": 1.2, "penalty_window": 0}, True),
        ({"penalty_window": 10}, True),
        ({"repetition_penalty": 1.2}, False),
        ({"temperature": 0.5}, False),
        ({"temperature": 1}, False),
    ],
)
def test_greedy_is_what_neither_draws_nor_penalizes(settings: dict[str, Any], plain: bool) -> None:
    assert Sampling(**settings).plain == plain


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.001},
        {"temperature": 100},
        {"top_k": 10**6},
        {"top_p": 0.001},
        {"top_p": 1},
        {"min_p": 1},
        {"repetition_penalty": 0.1},
        {"penalty_window": 10**6},
        {"seed": 0},
        {"seed": 2**64 - 1},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(settings: dict[str, Any]) -> None:
    assert all(getattr(Sampling(**settings), name) == value for name, value in settings.items())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 1e-9),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("temperature", "hot"),
        ("temperature", None),
        ("top_k", -1),
        ("top_k", 40.0),
        ("top_k", True),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("top_p", math.nan),
        ("min_p", -0.01),
        ("min_p", 1.01),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", -math.inf),
        ("repetition_penalty", 11),
        ("penalty_window", -1),
        ("penalty_window", 1.5),
        ("seed", -1),
        ("seed", 2**64),
        ("seed", 1.0),
        ("seed", "1"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name_and_with_what_to_do(name: str, value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        Sampling(**{name: value})  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.cause.startswith(f"Sampling.{name} should be ")
    assert repr(value) in caught.value.cause
    assert caught.value.remedy
