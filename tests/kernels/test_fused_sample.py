"""The fused draw: the reference by hand-written answers and the engine's draws, the numpy form by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.kernel_cases import DENSITIES, SHAPES, VALUES, case
from tests.support.kernel_draws import SETTINGS, draws, keys_of, settings_of, surprise
from velospec.core.request import Sampling
from velospec.verify.distribution import draw
from velospec.verify.sampling import uniform
from velospec_kernels import bitmask
from velospec_kernels.fused_sample import CpuSample, Sample, fused_sample, reference

INF, NAN = np.inf, np.nan
LN2 = math.log(2)


def sample(logits: list[float], settings: tuple[float, ...], **options: Any) -> CpuSample:
    rows = np.array([logits], np.float32)
    return fused_sample(rows, settings=settings_of(1, settings), keys=keys_of(1), **options)


@pytest.mark.parametrize("backend", ["reference", "numpy"])
@pytest.mark.parametrize(
    ("logits", "allowed", "settings", "kept"),
    [
        ([0, LN2, 2 * LN2], None, (1, 0, 1, 0), [0, 1, 2]),
        ([0, LN2, 2 * LN2], [0, 1], (1, 0, 1, 0), [0, 1]),
        ([0, LN2, 2 * LN2], None, (1, 2, 1, 0), [1, 2]),
        ([1, 1, 1, 1], None, (1, 2, 1, 0), [0, 1]),  # of equals the lowest ids
        ([1, 3, 1, 1], None, (1, 3, 1, 0), [0, 1, 2]),
        ([0, LN2, 2 * LN2], None, (1, 0, 0.5, 0), [2]),  # 4/7 reach a half
        ([0, LN2, 2 * LN2], None, (1, 0, 0.6, 0), [1, 2]),
        ([0, 0, 0, 0], None, (1, 0, 0.5, 0), [0, 1]),
        ([0, LN2, 2 * LN2], None, (1, 2, 0.66, 0), [2]),  # 4/6: shares are of what top-k left
        ([0, LN2, 2 * LN2], None, (1, 0, 1, 0.4), [1, 2]),
        ([0, LN2, 2 * LN2], None, (0.5, 0, 1, 0.2), [1, 2]),  # weights 1/16, 1/4, 1
        ([0, LN2, 2 * LN2], None, (1, 0, 0, 0), [2]),
        ([0, LN2, 2 * LN2], None, (1, 0, 1, 7), [2]),
        ([5, 5, 1], None, (0, 0, 1, 0), [0, 1]),
        ([NAN, 1, -INF], None, (1, 0, 1, 0), [1]),
        ([INF, 1, INF], None, (1, 0, 1, 0), [0, 2]),
        ([-INF, 9, -INF], [0, 2], (1, 0, 1, 0), [0, 2]),
        ([0, -200, 0], None, (1, 0, 1, 0), [0, 2]),
    ],
)
def test_what_can_be_drawn(
    logits: list[float], allowed: list[int] | None, settings: tuple[float, ...], kept: list[int], backend: str
) -> None:
    mask = None if allowed is None else np.broadcast_to(bitmask.pack(allowed, len(logits)), (200, 1))
    rows = np.tile(np.array(logits, np.float32), (200, 1))
    got = fused_sample(rows, mask, settings=settings_of(200, settings), keys=keys_of(200), backend=backend)
    assert set(got.kept.tolist()) == {len(kept)}
    assert sorted(set(got.ids.tolist())) == (kept if settings[0] else kept[:1])


@pytest.mark.parametrize("backend", ["reference", "numpy"])
@pytest.mark.parametrize(("logits", "allowed"), [([1, 2], []), ([NAN, NAN], None), ([NAN, 1], [0])])
def test_nothing_to_draw(logits: list[float], allowed: list[int] | None, backend: str) -> None:
    mask = None if allowed is None else bitmask.pack(allowed, 2)[None]
    rows = np.array([logits], np.float32)
    got = fused_sample(
        rows, mask, settings=settings_of(1, (1, 1, 0.5, 0.1)), keys=keys_of(1), backend=backend
    )
    assert [column.item() for column in got] == [-1, 0, 0]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_equals_reference(shape: tuple[int, int], density: float | None, values: str) -> None:
    given = case(shape, density, values)
    before = [buffer.tobytes() for buffer in given.buffers]
    settings = settings_of(shape[0], *SETTINGS)
    for seed in (0, -5):
        answers = []
        for backend in ("reference", "numpy"):
            out = Sample(*(np.full(shape[0], -77, dtype) for dtype in (np.int32, np.float32, np.int32)))
            options: Any = {"settings": settings, "keys": keys_of(shape[0], seed), "backend": backend}
            assert fused_sample(given.logits, given.mask, out=out, **options) is out
            answers.append(out)
        np.testing.assert_array_equal(answers[0].ids, answers[1].ids)
        np.testing.assert_array_equal(answers[0].kept, answers[1].kept)
        np.testing.assert_allclose(answers[0].probabilities, answers[1].probabilities, rtol=1e-6)
    assert [buffer.tobytes() for buffer in given.buffers] == before, "an input was written to"


def test_the_number_of_a_position_is_the_engines() -> None:
    for seed in (0, 1, 2**63 - 1, -1):
        for position in (0, 1, 12345):
            assert reference.uniform(seed, position) == uniform(seed % 2**64, position)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_draws_what_the_engine_draws(settings: tuple[float, ...]) -> None:
    temperature, top_k, top_p, min_p = settings
    if not temperature:
        pytest.skip("the engine's draw wants a temperature above 0")
    sampling = Sampling(temperature=temperature, top_k=int(top_k), top_p=top_p, min_p=min_p)
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((60, 700), dtype=np.float32) * 3
    got = fused_sample(rows, settings=settings_of(60, settings), keys=keys_of(60, 3))
    wanted = [draw(row.copy(), float(row.max()), sampling, uniform(3, at)) for at, row in enumerate(rows)]
    assert got.ids.tolist() == wanted


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_frequencies_are_those_of_the_distribution(settings: tuple[float, ...]) -> None:
    logits = np.random.default_rng(9).standard_normal(40).astype(np.float32)
    rows = np.tile(logits, (4000, 1))
    got = fused_sample(rows, settings=settings_of(4000, settings), keys=keys_of(4000, 21))
    assert surprise(draws(got.ids, 40), logits, settings) < 5


def test_a_row_depends_on_its_seed_and_position_alone() -> None:
    rows = np.random.default_rng(1).standard_normal((9, 300), dtype=np.float32)
    settings, keys = settings_of(9, (1, 0, 0.9, 0)), keys_of(9, 5)
    together = fused_sample(rows, settings=settings, keys=keys).ids
    backwards = fused_sample(rows[::-1], settings=settings, keys=np.ascontiguousarray(keys[::-1])).ids
    assert together.tolist() == backwards[::-1].tolist()
    others = fused_sample(rows, settings=settings, keys=keys_of(9, 6)).ids
    assert together.tolist() != others.tolist()
