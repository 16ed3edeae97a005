"""The CUDA forms against the reference, on a machine with an NVIDIA GPU, torch and nvcc."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.kernel_cases import DENSITIES, SHAPES, VALUES, case, draw_mask, draw_values
from velospec_kernels.grammar_masked_argmax import MaskedArgmax, cuda, grammar_masked_argmax
from velospec_kernels.popcount_density import Density, popcount_density

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

DTYPES = ["float32", "float16", "bfloat16"]
LAYOUTS = ["aligned", "unaligned"]
DEVICE = torch.device("cuda")


def poisoned_on_gpu(content: np.ndarray[Any, Any], dtype: Any, layout: str) -> Any:
    """`content` as a view in a buffer of NaN or set bits; rows start at multiples of 16 bytes, or do not."""
    rows, columns = content.shape
    stride, start = (-(-columns // 64) * 64 + 64, 64) if layout == "aligned" else (columns + 5, 3)
    poison = float("nan") if dtype.is_floating_point else -1
    buffer = torch.full(((rows + 2) * stride,), poison, dtype=dtype, device=DEVICE)
    inside = buffer[start : start + rows * stride].view(rows, stride)[:, :columns]
    inside.copy_(torch.from_numpy(np.ascontiguousarray(content)))
    return inside


def junk(rows: int) -> MaskedArgmax[Any, Any]:
    ids, counts = torch.full((2, rows), -77, dtype=torch.int32, device=DEVICE)
    top1, top2 = torch.full((2, rows), float("nan"), device=DEVICE)
    return MaskedArgmax(ids, top1, top2, counts)


def assert_same(got: Any, logits: Any, mask: np.ndarray[Any, Any] | None) -> None:
    backend = "reference" if logits.numel() < 200_000 else "numpy"  # the numpy form is held to the reference
    expected = grammar_masked_argmax(logits.float().cpu().contiguous().numpy(), mask, backend=backend)
    for name, mine, wanted in zip(expected._fields, got, expected, strict=True):
        np.testing.assert_array_equal(mine.cpu().numpy(), wanted, err_msg=name)
    np.testing.assert_array_equal(got.margin.cpu().numpy(), expected.margin)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_masked_argmax_equals_reference(shape: tuple[int, int], values: str, dtype: str, layout: str) -> None:
    space = cuda.workspace(*shape, DEVICE)
    for density in DENSITIES:
        given = case(shape, density, values)
        logits = poisoned_on_gpu(given.logits, getattr(torch, dtype), layout)
        mask = None if given.mask is None else poisoned_on_gpu(given.mask, torch.int32, layout)
        out = junk(shape[0])
        assert grammar_masked_argmax(logits, mask, out=out, workspace=space) is out
        assert_same(out, logits, given.mask)
        assert int(space[: cuda.MOST_ROWS * 4].count_nonzero()) == 0, "a ticket was left"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 49_152), (12, 151_936), (5, 248_320), (40, 131_071)], ids=str)
def test_masked_argmax_of_real_vocabularies(shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(3)
    for density in (1e-4, 0.02, 0.98):
        mask = draw_mask(rng, shape, density)
        logits = torch.from_numpy(draw_values(rng, shape, "normal")).to(DEVICE, getattr(torch, dtype))
        assert_same(grammar_masked_argmax(logits, torch.from_numpy(mask).to(DEVICE)), logits, mask)


def test_one_workspace_serves_calls_of_other_sizes() -> None:
    rng = np.random.default_rng(4)
    space = cuda.workspace(12, 151_936, DEVICE)
    for shape in [(12, 151_936), (1, 49_152), (12, 151_936), (3, 50_021), (1, 7), (12, 151_936)]:
        logits = torch.from_numpy(draw_values(rng, shape, "ties")).to(DEVICE)
        out = junk(shape[0])
        grammar_masked_argmax(logits, out=out, workspace=space)
        assert_same(out, logits, None)


def test_a_captured_call_answers_for_what_its_inputs_hold_at_replay() -> None:
    rng = np.random.default_rng(5)
    shape = (9, 50_021)
    logits = torch.zeros(shape, dtype=torch.bfloat16, device=DEVICE)
    mask = torch.zeros((9, -(-shape[1] // 32)), dtype=torch.int32, device=DEVICE)
    space, out = cuda.workspace(*shape, DEVICE), junk(9)
    density = Density(out.counts.clone(), out.top1.clone())
    grammar_masked_argmax(logits, mask, out=out, workspace=space)  # compiles and loads
    popcount_density(mask, shape[1], out=density)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        grammar_masked_argmax(logits, mask, out=out, workspace=space)
        popcount_density(mask, shape[1], out=density)
        after = torch.cuda.memory_stats()["allocation.all.allocated"]
    assert after == before, "a captured call allocated"
    for share in (0.0, 0.5, 1.0):
        words = draw_mask(rng, shape, share)
        mask.copy_(torch.from_numpy(words))
        logits.copy_(torch.from_numpy(draw_values(rng, shape, "special")))
        graph.replay()
        assert_same(out, logits, words)
        assert torch.equal(density.counts, out.counts)


def test_each_call_is_one_launch() -> None:
    logits = torch.zeros((12, 50_000), device=DEVICE)
    mask = torch.full((12, 1563), -1, dtype=torch.int32, device=DEVICE)
    space, out, density = cuda.workspace(12, 50_000, DEVICE), junk(12), popcount_density(mask, 50_000)
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        grammar_masked_argmax(logits, mask, out=out, workspace=space)
        popcount_density(mask, 50_000, out=density)
        torch.cuda.synchronize()
    device_events = [event.name for event in profile.events() if event.device_type.name == "CUDA"]
    assert [name.count("_kernel") for name in device_events] == [1, 1], device_events


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [*SHAPES, (12, 248_320)], ids=str)
def test_popcount_density_equals_reference(shape: tuple[int, int], layout: str) -> None:
    rng = np.random.default_rng(6)
    for share in (0.0, 0.02, 0.5, 1.0):
        words = draw_mask(rng, shape, share)
        mask = poisoned_on_gpu(words, torch.int32, layout)
        got = Density(torch.full((shape[0],), -77, dtype=torch.int32, device=DEVICE), junk(shape[0]).top1)
        assert popcount_density(mask, shape[1], out=got) is got
        expected = popcount_density(words, shape[1], backend="reference" if shape[1] < 9000 else "numpy")
        np.testing.assert_array_equal(got.counts.cpu().numpy(), expected.counts)
        np.testing.assert_array_equal(got.density.cpu().numpy(), expected.density)


def test_work_goes_to_the_current_stream() -> None:
    stream = torch.cuda.Stream()
    logits = torch.zeros((2, 70_000), device=DEVICE)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        logits[:, 65_432] = 1
        got = grammar_masked_argmax(logits)
    stream.synchronize()
    assert got.ids.tolist() == [65_432, 65_432]
