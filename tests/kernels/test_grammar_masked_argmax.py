"""The masked argmax: the reference by hand-written answers, the numpy form by the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kernel_cases import DENSITIES, SHAPES, VALUES, Case, case
from velospec_kernels import bitmask
from velospec_kernels.grammar_masked_argmax import CpuArgmax, MaskedArgmax, grammar_masked_argmax

INF, NAN = np.inf, np.nan


def junk(rows: int) -> CpuArgmax:
    ids, counts = np.full((2, rows), -77, np.int32)
    top1, top2 = np.full((2, rows), NAN, np.float32)
    return MaskedArgmax(ids, top1, top2, counts)


def assert_same(got: CpuArgmax, expected: CpuArgmax) -> None:
    for name, mine, wanted in zip(got._fields, got, expected, strict=True):
        assert mine.dtype == wanted.dtype, name
        np.testing.assert_array_equal(mine, wanted, err_msg=name)


@pytest.mark.parametrize("backend", ["reference", "numpy"])
@pytest.mark.parametrize(
    ("values", "allowed", "expected", "margin"),
    [
        ([1, 5, 3], None, (1, 5, 3, 3), 2),
        ([1, 5, 3], [0, 2], (2, 3, 1, 2), 2),
        ([1, 5, 3], [0], (0, 1, -INF, 1), INF),
        ([1, 5, 3], [], (-1, -INF, -INF, 0), 0),
        ([7, 7, 7], None, (0, 7, 7, 3), 0),
        ([7, 7, 7], [1, 2], (1, 7, 7, 2), 0),
        ([-0.0, 0.0, -1], None, (0, 0, 0, 3), 0),
        ([0.0, -0.0, -1], [1, 2], (1, 0, -1, 2), 1),
        ([NAN, 2, NAN, 1], None, (1, 2, 1, 4), 1),
        ([NAN, 2, NAN, 1], [0, 3], (3, 1, -INF, 2), INF),
        ([NAN, NAN], None, (-1, -INF, -INF, 2), 0),
        ([NAN, 4], [0], (-1, -INF, -INF, 1), 0),
        ([-INF, -INF, 1], [0, 1], (0, -INF, -INF, 2), 0),
        ([1, -INF, 1], [1], (1, -INF, -INF, 1), 0),
        ([NAN, -INF, 1], [0, 1], (1, -INF, -INF, 2), 0),
        ([1, INF, INF], None, (1, INF, INF, 3), 0),
        ([1, INF, 0], None, (1, INF, 1, 3), INF),
    ],
)
def test_answers_written_by_hand(
    backend: str, values: list[float], allowed: list[int] | None, expected: tuple[float, ...], margin: float
) -> None:
    logits = np.array([values], np.float32)
    mask = None if allowed is None else bitmask.pack(allowed, len(values))[None]
    got = grammar_masked_argmax(logits, mask, backend=backend)
    assert tuple(column[0] for column in got) == expected
    assert got.margin[0] == margin
    assert got.margin.dtype == np.float32


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numpy_equals_reference(shape: tuple[int, int], density: float | None, values: str) -> None:
    given_case = case(shape, density, values)
    before = [buffer.tobytes() for buffer in given_case.buffers]
    expected = run(given_case, "reference")
    assert_same(run(given_case, "numpy"), expected)
    assert [buffer.tobytes() for buffer in given_case.buffers] == before, "an input was written to"


def run(given_case: Case, backend: str) -> CpuArgmax:
    out = junk(given_case.logits.shape[0])
    got = grammar_masked_argmax(given_case.logits, given_case.mask, out=out, backend=backend)
    assert got is out
    return out


@pytest.mark.parametrize("vocabulary", [1, 30, 32, 95, 700])
@given(data=st.data())
def test_any_values_and_masks(vocabulary: int, data: st.DataObject) -> None:
    value = st.sampled_from([-INF, -1.0, -0.0, 0.0, 1.0, 2.0, INF, NAN])
    logits = np.full((1, vocabulary), data.draw(value), np.float32)
    token = st.integers(0, vocabulary - 1)
    for at, other in data.draw(st.dictionaries(token, value, max_size=8)).items():
        logits[0, at] = other
    mask = bitmask.pack(data.draw(st.lists(token, max_size=40)), vocabulary)[None]
    if data.draw(st.booleans()):
        mask = ~mask
    assert_same(
        grammar_masked_argmax(logits, mask, backend="numpy"),
        grammar_masked_argmax(logits, mask, backend="reference"),
    )


def test_auto_is_numpy_for_arrays_and_allocates_what_the_contract_says() -> None:
    logits = np.array([[1, 2, 3], [9, 8, 7]], np.float32)
    logits.flags.writeable = False
    got = grammar_masked_argmax(logits)
    assert [column.dtype.name for column in got] == ["int32", "float32", "float32", "int32"]
    assert_same(got, grammar_masked_argmax(logits, backend="reference"))


def test_one_mask_row_broadcast_over_all_rows() -> None:
    logits = np.arange(12, dtype=np.float32).reshape(3, 4)
    mask = np.broadcast_to(bitmask.pack([1], 4), (3, 1))
    assert grammar_masked_argmax(logits, mask).ids.tolist() == [1, 1, 1]


def test_unsigned_masks_mean_the_same() -> None:
    given_case = case((5, 97), 0.5, "normal")
    assert given_case.mask is not None
    assert_same(
        grammar_masked_argmax(given_case.logits, given_case.mask.view(np.uint32)),
        grammar_masked_argmax(given_case.logits, given_case.mask),
    )


def test_no_rows_no_answer() -> None:
    got = grammar_masked_argmax(np.empty((0, 40), np.float32), np.empty((0, 2), np.int32))
    assert [column.shape for column in got] == [(0,)] * 4
