"""The cost model and its measurement, on a simulated clock: no real time is asserted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from velospec.control.cost_model import CostModel
from velospec.control.measure import CONTEXTS, ROWS, measure_costs

CURVE = {1: 1.0, 2: 1.3, 4: 1.7, 8: 2.5, 16: 4.1}


@dataclass
class SimulatedVocabulary:
    size: int = 100


class SimulatedBackend:
    """Advances a clock by what a batch would take; `slowdown` says what else the machine is doing."""

    def __init__(self, slowdown: Callable[[], float], context: int = 2048) -> None:
        self.vocabulary = SimulatedVocabulary()
        self.max_rows, self.min_rows, self.context, self.slots = 16, 1, context, 1
        self.now = 0.0
        self.length = 0
        self._slowdown = slowdown
        self._truth = CostModel({0: CURVE})

    def clock(self) -> float:
        return self.now

    def prefill(self, _slot: int, ids: Sequence[int], position: int) -> None:
        assert position == self.length
        self.length += len(ids)
        self.now += len(ids) / 400 * self._slowdown()

    def decode(self, _slot: int, ids: Sequence[int], position: int) -> None:
        assert position == self.length
        assert position + len(ids) <= self.context
        self.length += len(ids)
        self.now += 0.01 * self._truth.seconds(len(ids)) * self._slowdown()

    def truncate(self, _slot: int, length: int) -> None:
        self.length = min(self.length, length)


def measured(slowdown: Callable[[], float], **options: float) -> tuple[CostModel, SimulatedBackend]:
    backend = SimulatedBackend(slowdown)
    return measure_costs(backend, clock=backend.clock, **options), backend  # type: ignore[arg-type]  # simulated


def ratio(model: CostModel, rows: int, context: int = 0) -> float:
    return model.seconds(rows, context) / model.seconds(1, context)


def test_a_quiet_machine_is_measured_exactly() -> None:
    model, backend = measured(lambda: 1.0)
    assert model.measured
    assert backend.length == 0
    assert tuple(model.curves) == CONTEXTS
    assert all(tuple(curve) == (1, *ROWS) for curve in model.curves.values())
    for rows, expected in CURVE.items():
        assert ratio(model, rows) == pytest.approx(expected)
    assert model.prefill_rate == pytest.approx(400)


def test_bursts_of_other_work_do_not_pass_for_the_cost_of_a_row_count() -> None:
    dice = np.random.default_rng(1)
    model, _ = measured(lambda: 8.0 if dice.random() < 0.1 else 1.0)
    for rows, expected in CURVE.items():
        assert ratio(model, rows) == pytest.approx(expected, rel=0.05)


def test_a_drifting_clock_speed_cancels_out_of_the_ratios() -> None:
    calls = iter(range(10**6))
    model, _ = measured(lambda: 1.0 + next(calls) / 500)
    for rows, expected in CURVE.items():
        assert ratio(model, rows) == pytest.approx(expected, rel=0.05)


def test_a_measurement_that_disagrees_with_itself_keeps_the_default_shape() -> None:
    dice = np.random.default_rng(2)
    model, backend = measured(lambda: float(dice.choice((1.0, 10.0))))
    default = CostModel.default()
    assert not model.measured
    assert ratio(model, 16, 48) == pytest.approx(ratio(default, 16, 48))
    assert model.seconds(1) >= 0.01
    assert backend.length == 0


def test_the_time_limit_bounds_a_measurement() -> None:
    model, backend = measured(lambda: 100.0, limit=20.0)
    # Filling, warming up and one round of each context may pass the limit; more may not.
    one_round = 100 * 0.01 * sum(CostModel({0: CURVE}).seconds(rows) + 1 for rows in ROWS)
    assert backend.now <= 20 + 512 / 400 * 100 + 4 * one_round
    assert not model.measured


def test_a_small_context_is_measured_where_it_has_room() -> None:
    backend = SimulatedBackend(lambda: 1.0, context=100)
    model = measure_costs(backend, clock=backend.clock)  # type: ignore[arg-type]  # simulated
    assert tuple(model.curves) == (48,)


def test_seconds_interpolates_between_rows_and_contexts_and_goes_on_straight() -> None:
    model = CostModel({0: {1: 1.0, 3: 2.0}, 100: {1: 2.0, 3: 4.0}})
    assert model.seconds(2, 0) == pytest.approx(1.5)
    assert model.seconds(3, 50) == pytest.approx(3.0)
    assert model.seconds(3, 200) == pytest.approx(6.0)
    assert model.seconds(5, 0) == pytest.approx(3.0)


def test_a_larger_batch_is_never_cheaper() -> None:
    model = CostModel({0: {1: 1.0, 2: 3.0, 4: 2.0, 8: 2.5}})
    times = [model.seconds(rows) for rows in range(1, 12)]
    assert times == sorted(times)
    assert times[1] == times[3] == pytest.approx(2.5)  # 3 and 2 pooled
    for _ in range(500):
        model.observe(4, 0, 0.1)
    times = [model.seconds(rows) for rows in range(1, 12)]
    assert times == sorted(times)


def test_use_refines_scale_and_shape() -> None:
    model = CostModel({0: CURVE})
    for _ in range(400):  # a machine twice as fast, on which four rows cost 1.2 instead of 1.7
        for rows, time in ((1, 0.5), (2, 0.55), (4, 0.6), (8, 1.25)):
            model.observe(rows, 0, time)
    assert model.seconds(1) == pytest.approx(0.5, rel=0.1)
    assert ratio(model, 4) == pytest.approx(1.2, rel=0.1)
    assert ratio(model, 4) < ratio(CostModel({0: CURVE}), 4)


def test_one_stall_teaches_little() -> None:
    model = CostModel({0: CURVE})
    model.observe(4, 0, 1000.0)
    assert model.seconds(4) == pytest.approx(CURVE[4], rel=0.1)
    assert ratio(model, 4) == pytest.approx(CURVE[4], rel=0.02)


@pytest.mark.parametrize("speed", [0.25, 4.0])
def test_a_change_of_speed_seen_in_single_rows_alone_keeps_the_shape(speed: float) -> None:
    model = CostModel({0: CURVE})
    for _ in range(300):
        model.observe(1, 0, CURVE[1] * speed)
    assert model.seconds(1) == pytest.approx(CURVE[1] * speed, rel=0.01)
    for rows in (2, 4, 8):
        assert ratio(model, rows) == pytest.approx(CURVE[rows] / CURVE[1], rel=0.06)


def test_nonsense_observations_are_ignored() -> None:
    model = CostModel({0: CURVE})
    model.observe(0, 0, 1.0)
    model.observe(4, 0, 0.0)
    assert model.to_dict() == CostModel({0: CURVE}).to_dict()


def test_a_trip_through_json_keeps_everything() -> None:
    model = CostModel({10: CURVE, 500: {1: 2.0, 16: 9.0}}, prefill_rate=123.0)
    for _ in range(50):
        model.observe(4, 100, 1.0)
    again = CostModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.to_dict() == model.to_dict()
    points = [(rows, context) for rows in range(1, 20) for context in (0, 10, 250, 900)]
    assert [again.seconds(*point) for point in points] == [model.seconds(*point) for point in points]


@pytest.mark.parametrize(
    "curves", [{}, {0: {2: 1.0}}, {0: {1: 0.0}}, {0: {1: float("nan")}}, {0: CURVE, 1: CURVE, 2: CURVE}]
)
def test_a_curve_that_cannot_be_is_refused(curves: dict[int, dict[int, float]]) -> None:
    with pytest.raises(ValueError, match=r"need|must"):
        CostModel(curves)


def test_the_default_is_usable_and_says_that_it_is_not_measured() -> None:
    model = CostModel.default()
    assert not model.measured
    assert 1 < ratio(model, 2) <= 2
    assert model.prefill_seconds(340) == pytest.approx(1.0)
