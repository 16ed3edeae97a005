"""The CUDA forms against the reference, on a machine with an NVIDIA GPU, torch and nvcc."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.kernel_cases import DENSITIES, SHAPES, VALUES, case, draw_mask, draw_values
from tests.support.kernel_draws import SETTINGS, draws, fits, keys_of, settings_of, surprise
from velospec_kernels import fused_logit_processor as triton_form
from velospec_kernels.errors import ContractError
from velospec_kernels.fused_sample import Sample, fused_sample
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
        assert int(space.count_nonzero()) == 0, "a word was left"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 49_152), (12, 151_936), (5, 248_320), (40, 131_071)], ids=str)
def test_masked_argmax_of_real_vocabularies(shape: tuple[int, int], dtype: str) -> None:
    rng = np.random.default_rng(3)
    for density in (1e-4, 0.02, 0.98):
        mask = draw_mask(rng, shape, density)
        logits = torch.from_numpy(draw_values(rng, shape, "normal")).to(DEVICE, getattr(torch, dtype))
        assert_same(grammar_masked_argmax(logits, torch.from_numpy(mask).to(DEVICE)), logits, mask)


def test_more_rows_than_multiprocessors() -> None:
    rng = np.random.default_rng(7)
    rows = 2 * torch.cuda.get_device_properties(DEVICE).multi_processor_count + 3
    mask = draw_mask(rng, (rows, 5000), 0.3)
    logits = torch.from_numpy(draw_values(rng, (rows, 5000), "ties")).to(DEVICE, torch.float16)
    assert_same(grammar_masked_argmax(logits, torch.from_numpy(mask).to(DEVICE)), logits, mask)


def test_a_workspace_of_odd_bytes_is_refused() -> None:
    logits = torch.zeros((1, 100), device=DEVICE)
    space = torch.zeros(cuda.workspace_bytes(1, 100) + 4, dtype=torch.uint8, device=DEVICE)[4:]
    with pytest.raises(ContractError, match="workspace must start at a multiple of 16 bytes"):
        grammar_masked_argmax(logits, workspace=space)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shape", [*SHAPES, (12, 151_936)], ids=str)
def test_triton_equals_reference(shape: tuple[int, int], values: str, dtype: str, layout: str) -> None:
    space = triton_form.workspace(*shape, DEVICE)
    for density in (None, 0.02, 0.98):
        given = case(shape, density, values)
        logits = poisoned_on_gpu(given.logits, getattr(torch, dtype), layout)
        mask = None if given.mask is None else poisoned_on_gpu(given.mask, torch.int32, layout)
        out = junk(shape[0])
        assert triton_form.fused_logit_processor(logits, mask, out=out, workspace=space) is out
        assert_same(out, logits, given.mask)
        assert int(space[: shape[0]].count_nonzero()) == 0, "a ticket was left"


def drawn(logits: Any, mask: np.ndarray[Any, Any] | None, settings: Any, keys: Any) -> list[tuple[Any, ...]]:
    """What `fused_sample` answers on the GPU, row by row; what was in its outputs before is junk."""
    rows = logits.shape[0]
    ids, probabilities, _, kept = junk(rows)
    out = Sample(ids, probabilities, kept)
    place = {"settings": torch.from_numpy(settings).to(DEVICE), "keys": torch.from_numpy(keys).to(DEVICE)}
    masks = None if mask is None else poisoned_on_gpu(mask, torch.int32, "unaligned")
    assert fused_sample(logits, masks, out=out, **place) is out
    return list(zip(*(column.cpu().tolist() for column in out), strict=True))


def allowed_ids(mask: np.ndarray[Any, Any] | None, row: int, vocabulary: int) -> list[int]:
    if mask is None:
        return list(range(vocabulary))
    bits = np.unpackbits(mask[row].view(np.uint8), count=vocabulary, bitorder="little")
    found: list[int] = np.flatnonzero(bits).tolist()
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 31), (3, 33), (14, 1021), (7, 8191)], ids=str)
def test_fused_sample_fits_reference(shape: tuple[int, int], values: str, dtype: str, layout: str) -> None:
    keys = keys_of(shape[0], 17)
    for density in (None, 0.0, 0.02, 0.98):
        given = case(shape, density, values)
        logits = poisoned_on_gpu(given.logits, getattr(torch, dtype), layout)
        content = logits.float().cpu().numpy()
        for turn in range(0, len(SETTINGS), shape[0]):
            settings = settings_of(shape[0], *SETTINGS[turn:], *SETTINGS[:turn])
            for row, got in enumerate(drawn(logits, given.mask, settings, keys)):
                allowed = allowed_ids(given.mask, row, shape[1])
                assert fits(got, content[row], allowed, settings[row], keys[row]), (
                    got,
                    row,
                    density,
                    settings[row],
                )


@pytest.mark.parametrize("vocabulary", [151_936, 262_144, 300_001])
@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_sample_of_real_vocabularies(vocabulary: int, dtype: str) -> None:
    rng = np.random.default_rng(11)
    shape, settings, keys = (
        (len(SETTINGS), vocabulary),
        settings_of(len(SETTINGS), *SETTINGS),
        keys_of(len(SETTINGS)),
    )
    mask = draw_mask(rng, shape, 0.98)
    logits = torch.from_numpy(draw_values(rng, shape, "normal")).to(DEVICE, getattr(torch, dtype))
    content = logits.float().cpu().numpy()
    for row, got in enumerate(drawn(logits, mask, settings, keys)):
        assert fits(got, content[row], allowed_ids(mask, row, vocabulary), settings[row], keys[row]), (
            row,
            got,
        )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_frequencies_are_those_of_the_distribution(settings: tuple[float, ...]) -> None:
    logits = np.random.default_rng(9).standard_normal(40).astype(np.float32)
    rows = 40_000
    got = drawn(
        torch.from_numpy(logits).to(DEVICE).expand(rows, 40), None, settings_of(rows, settings), keys_of(rows)
    )
    assert surprise(draws(np.array([token for token, _, _ in got], np.int32), 40), logits, settings) < 5


def test_a_draw_does_not_depend_on_the_rows_beside_it() -> None:
    rng = np.random.default_rng(12)
    logits = torch.from_numpy(draw_values(rng, (9, 50_021), "normal")).to(DEVICE)
    settings, keys = settings_of(9, *SETTINGS), keys_of(9, 4)
    together = drawn(logits, None, settings, keys)
    alone = [
        drawn(logits[row : row + 1], None, settings[row : row + 1], keys[row : row + 1])[0]
        for row in range(9)
    ]
    assert together == alone


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
    settings = torch.from_numpy(settings_of(9, *SETTINGS)).to(DEVICE)
    keys = torch.from_numpy(keys_of(9)).to(DEVICE)
    sample = Sample(out.counts.clone(), out.top1.clone(), out.counts.clone())
    fused_sample(logits, mask, settings=settings, keys=keys, out=sample)
    grammar_masked_argmax(logits, mask, out=out, workspace=space)  # compiles and loads
    popcount_density(mask, shape[1], out=density)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        grammar_masked_argmax(logits, mask, out=out, workspace=space)
        popcount_density(mask, shape[1], out=density)
        fused_sample(logits, mask, settings=settings, keys=keys, out=sample)
        after = torch.cuda.memory_stats()["allocation.all.allocated"]
    assert after == before, "a captured call allocated"
    for share in (0.0, 0.5, 1.0):
        words = draw_mask(rng, shape, share)
        mask.copy_(torch.from_numpy(words))
        logits.copy_(torch.from_numpy(draw_values(rng, shape, "special")))
        keys[:, 0] += 1
        graph.replay()
        assert_same(out, logits, words)
        again = fused_sample(logits, mask, settings=settings, keys=keys)
        assert all(torch.equal(mine, other) for mine, other in zip(sample, again, strict=True))
        assert torch.equal(density.counts, out.counts)


def test_each_call_is_one_launch() -> None:
    logits = torch.zeros((12, 50_000), device=DEVICE)
    mask = torch.full((12, 1563), -1, dtype=torch.int32, device=DEVICE)
    space, out, density = cuda.workspace(12, 50_000, DEVICE), junk(12), popcount_density(mask, 50_000)
    settings = torch.from_numpy(settings_of(12, *SETTINGS)).to(DEVICE)
    keys = torch.from_numpy(keys_of(12)).to(DEVICE)
    sample = fused_sample(logits, mask, settings=settings, keys=keys)
    triton_space = triton_form.workspace(12, 50_000, DEVICE)
    triton_form.fused_logit_processor(logits, mask, out=out, workspace=triton_space)
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        grammar_masked_argmax(logits, mask, out=out, workspace=space)
        popcount_density(mask, 50_000, out=density)
        fused_sample(logits, mask, settings=settings, keys=keys, out=sample)
        triton_form.fused_logit_processor(logits, mask, out=out, workspace=triton_space)
        torch.cuda.synchronize()
    device_events = [event.name for event in profile.events() if event.device_type.name == "CUDA"]
    wanted = ["grammar_masked_argmax_kernel", "popcount_density_kernel", "fused_sample_kernel", "_process"]
    assert len(device_events) == len(wanted), device_events
    assert all(name in event for name, event in zip(wanted, device_events, strict=True)), device_events


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
