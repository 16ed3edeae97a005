"""Profiles are kept, belong to their conditions, and are remade when damaged; light imports."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import velospec
from velospec.control.cost_model import CostModel
from velospec.profile import NAME, Conditions, Profile, load_profile
from velospec.verify.exact import Numerics

CONDITIONS = Conditions("build 1; cpu", 2, "abc")
COST = CostModel({64: {1: 0.01, 2: 0.013, 4: 0.02}, 512: {1: 0.02, 2: 0.025, 4: 0.03}}, prefill_rate=400.0)
PROFILE = Profile(CONDITIONS, Numerics(exact=True, row_counts=(1, 2, 4), reason="all agree"), COST)


def test_a_profile_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    PROFILE.save(tmp_path)
    loaded = load_profile(tmp_path, CONDITIONS)
    assert loaded is not None
    assert loaded.numerics == PROFILE.numerics
    assert loaded.to_dict() == PROFILE.to_dict()
    assert loaded.tokens_per_second == pytest.approx(50)
    assert loaded.prefill_tokens_per_second == 400


@pytest.mark.parametrize("change", [{"build": "build 2; cpu"}, {"threads": 4}, {"model_sha256": "def"}])
def test_a_profile_of_other_conditions_is_not_used(tmp_path: Path, change: dict[str, object]) -> None:
    PROFILE.save(tmp_path)
    assert load_profile(tmp_path, replace(CONDITIONS, **change)) is None


def damaged() -> list[str]:
    whole = PROFILE.to_dict()
    return [
        "",
        "{",
        "[]",
        "null",
        json.dumps({**whole, "version": 99}),
        json.dumps({key: value for key, value in whole.items() if key != "cost"}),
        json.dumps({**whole, "numerics": {"unknown": 1}}),
        json.dumps({**whole, "cost": {**whole["cost"], "curves": {}}}),
        json.dumps({**whole, "cost": None}),
    ]


@pytest.mark.parametrize("text", damaged())
def test_a_damaged_profile_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    assert load_profile(tmp_path, CONDITIONS) is None


def test_no_profile(tmp_path: Path) -> None:
    assert load_profile(tmp_path, CONDITIONS) is None


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    PROFILE.save(tmp_path / "missing")
    assert "could not be kept" in caplog.text


def test_public_names_load_when_used_and_not_before() -> None:
    code = (
        "import sys, velospec\n"
        "assert 'Engine' in dir(velospec)\n"
        "heavy = {'llama_cpp', 'numpy', 'gguf', 'velospec.api'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "for name in velospec.__all__: assert getattr(velospec, name) is not None\n"
        "assert 'llama_cpp' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_unknown_public_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = velospec.Nothing
