"""Exact and fast mode: the numeric setting of each, what is kept of it, and what the user is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from velospec import CancelToken, Engine, InstalledModel, Limits, Mode, TextRequest
from velospec.backends.cpu import usable_cores
from velospec.backends.llama_cpp import build_id
from velospec.control.cost_model import CostModel
from velospec.profile import FAST_NAME, NAME, Conditions, Profile, load_profile
from velospec.verify import fast
from velospec.verify.exact import SETTINGS, Numerics
from velospec.verify.fast import fastest

CONDITIONS = Conditions("build 1; cpu", 2, "abc")
AGREEING = Numerics(exact=True, reason="all row counts agree")
TWO_ROWS = Numerics(kv_type="f16", exact=True, min_rows=2, reason="all row counts but one row alone agree")
ALONE = Numerics(kv_type="f16", flash_attention=False, reason="fast mode lets one row run alone")
REQUEST = TextRequest("doc", "def add(a, b):\n", Limits(max_tokens=4, ignore_end=True))


@dataclass
class TimedBackend:
    """Takes the seconds that a test gives for each setting, on its own clock; `slow` batches take longer."""

    single: Sequence[float]
    several: Sequence[float]
    context: int = 1000
    slow: frozenset[int] = frozenset()
    now: float = 0.0
    batches: list[tuple[int, int]] = field(default_factory=list)  # setting, rows
    can_rollback: bool = True
    min_rows: int = 2

    @property
    def vocabulary(self) -> np.ndarray:
        return np.zeros(50)  # all that is asked of it is its size

    def configure(self, *, kv_type: str, flash_attention: bool, min_rows: int) -> None:
        self.setting = SETTINGS.index((kv_type, flash_attention))
        self.min_rows = min_rows
        self.length = 0

    def prefill(self, slot: int, ids: Sequence[int], position: int) -> None:
        assert (slot, position) == (0, self.length)
        self.length += len(ids)
        self.now += 5.0

    def decode(self, slot: int, ids: Sequence[int], position: int) -> None:
        assert (slot, position) == (0, self.length)
        self.length += len(ids)
        assert self.length <= self.context
        self.batches.append((self.setting, len(ids)))
        busy = 1.0 if len(self.batches) in self.slow else 0.0
        self.now += (self.single if len(ids) == 1 else self.several)[self.setting] + busy

    def fastest(self) -> Numerics:
        return fastest(self, clock=lambda: self.now)  # type: ignore[arg-type]  # only what is used of it


@pytest.mark.parametrize(
    ("single", "several", "winner"),
    [
        ((1, 1, 1, 1), (2, 2, 2, 2), 0),
        ((1, 1, 0.5, 1), (2, 2, 2, 2), 2),
        ((1, 1, 1, 1), (2, 1.9, 2, 2), 1),
        ((1, 0.9, 1, 1), (2, 2, 2, 1.8), 3),
    ],
)
def test_the_setting_that_is_faster_for_one_row_and_several_is_taken(
    single: Sequence[float], several: Sequence[float], winner: int
) -> None:
    backend = TimedBackend(single, several)
    numerics = backend.fastest()
    assert (numerics.kv_type, numerics.flash_attention) == SETTINGS[winner]
    assert (numerics.exact, numerics.min_rows, numerics.all_agree) == (False, 1, False)
    assert (backend.setting, backend.min_rows, backend.length) == (winner, 1, 0)
    assert {rows for _, rows in backend.batches} == {1, 8}


def test_busy_moments_do_not_count() -> None:
    busy = frozenset(range(1, 97)) - frozenset(range(0, 97, 5))  # four batches in five
    assert TimedBackend((1, 1, 0.9, 1), (2, 2, 1.9, 2), slow=busy).fastest().flash_attention is False


def test_a_context_too_short_to_time_keeps_the_first_setting() -> None:
    backend = TimedBackend((1, 0, 0, 0), (1, 0, 0, 0), context=200)
    assert backend.fastest().kv_type == "bf16"
    assert not backend.batches
    assert (backend.setting, backend.min_rows) == (0, 1)


def test_progress_only_grows_and_ends_at_one() -> None:
    fractions: list[float] = []
    fastest(TimedBackend((1,) * 4, (1,) * 4), fractions.append)  # type: ignore[arg-type]  # only what is used
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_each_mode_keeps_its_own_profile_unless_all_row_counts_agree(tmp_path: Path) -> None:
    cost = CostModel.default()
    Profile(CONDITIONS, TWO_ROWS, cost).save(tmp_path)
    assert load_profile(tmp_path, CONDITIONS, Mode.FAST) is None
    Profile(CONDITIONS, ALONE, cost, Mode.FAST).save(tmp_path)
    found = {mode: load_profile(tmp_path, CONDITIONS, mode) for mode in Mode}
    assert {mode: profile and profile.numerics for mode, profile in found.items()} == {
        Mode.EXACT: TWO_ROWS,
        Mode.FAST: ALONE,
    }
    assert all(profile is not None and profile.mode is mode for mode, profile in found.items())
    Profile(CONDITIONS, AGREEING, cost).save(tmp_path)
    profile = load_profile(tmp_path, CONDITIONS, Mode.FAST)
    assert profile is not None
    assert (profile.numerics, profile.mode) == (AGREEING, Mode.EXACT)


def opened(model: InstalledModel, mode: Mode) -> Engine:
    return Engine.open(model, slots=1, context=512, mode=mode)


@pytest.fixture
def own_folder(default_model: InstalledModel, tmp_path: Path) -> InstalledModel:
    """The default model with nothing measured of it; its compiled rules spare compiling them again."""
    for rules in default_model.folder.glob("rules-*"):
        (tmp_path / rules.name).symlink_to(rules)
    return replace(default_model, folder=tmp_path)


@pytest.fixture
def conditions(own_folder: InstalledModel) -> Conditions:
    return Conditions(build_id(), usable_cores(), own_folder.sha256)


@pytest.mark.model
def test_where_all_row_counts_agree_fast_mode_is_exact_mode_and_says_so(
    own_folder: InstalledModel, conditions: Conditions
) -> None:
    Profile(conditions, AGREEING, CostModel.default()).save(own_folder.folder)
    engine = opened(own_folder, Mode.FAST)
    assert engine.numerics == AGREEING
    assert engine.notice.startswith("Fast mode is exact mode for this model")
    assert {key: engine.describe()[key] for key in ("mode", "exact")} == {"mode": "fast", "exact": True}
    engine.close()
    engine = opened(own_folder, Mode.EXACT)
    assert not engine.notice
    assert engine.describe()["mode"] == "exact"
    engine.close()


@pytest.mark.model
def test_where_one_row_alone_differs_fast_mode_lets_it_run_alone_and_says_what_that_means(
    own_folder: InstalledModel, conditions: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    Profile(conditions, TWO_ROWS, CostModel.default()).save(own_folder.folder)
    exact = opened(own_folder, Mode.EXACT)
    assert exact._backend.min_rows == 2
    assert exact.generate(REQUEST, CancelToken()).statistics.rows[:2] == (0, 0)
    exact.close()

    # What is timed is tested above; here a short look is enough.
    monkeypatch.setattr(fast, "_CONTEXT", 8)
    monkeypatch.setattr("velospec.measuring.measure_costs", lambda *_args, **_options: CostModel.default())
    engine = opened(own_folder, Mode.FAST)
    assert (engine._backend.min_rows, engine.profile) == (1, None)
    engine.measure()
    assert (engine._backend.min_rows, engine.numerics.exact) == (1, False)
    assert engine._backend.options.kv_type == engine.numerics.kv_type
    assert engine.notice.startswith("Near ties may be decided differently")
    assert "fast mode lets one row run alone" in engine.notice
    plain = engine.generate(replace(REQUEST, speculate=False), CancelToken())
    assert plain.statistics.rows == (0, 4)
    engine.close()
    assert {file.name for file in own_folder.folder.glob("profile*")} == {NAME, FAST_NAME}
    assert load_profile(own_folder.folder, conditions).numerics == TWO_ROWS  # type: ignore[union-attr]  # kept
