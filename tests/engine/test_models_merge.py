"""Merging an adapter: exact on a small pair, and the known answers of the real default model."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from velospec.core.errors import InstallError
from velospec.models.catalogue import Check, catalogue
from velospec.models.gguf import find_tokens, read_head
from velospec.models.merge import merge_adapter
from velospec.models.selftest import run_selftest
from velospec.models.store import InstalledModel

Q8_0, Q4_1 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_1


def write(
    path: Path, tensors: dict[str, tuple[np.ndarray, gguf.GGMLQuantizationType]], **keys: float
) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("base")
    writer.add_token_list(["a", "b"])
    for key, value in keys.items():
        writer.add_float32(key.replace("__", "."), value)
    for name, (values, kind) in tensors.items():
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    random = np.random.default_rng(7)

    def values(rows: int, columns: int) -> np.ndarray:
        return random.standard_normal((rows, columns), dtype=np.float32)

    f32 = gguf.GGMLQuantizationType.F32
    base = {"w": (values(64, 32), Q4_1), "plain": (values(4, 32), Q4_1), "kept": (values(4, 32), Q8_0),
            "norm": (values(1, 32), f32)}  # fmt: skip
    adapter = {"w.lora_a": (values(32, 32), Q8_0), "w.lora_b": (values(64, 32), Q8_0)}
    return write(tmp_path / "base.gguf", base), write(
        tmp_path / "lora.gguf", adapter, adapter__lora__alpha=64.0
    )


def tensors(path: Path) -> dict[str, tuple[gguf.GGMLQuantizationType, np.ndarray]]:
    return {t.name: (t.tensor_type, np.array(t.data)) for t in gguf.GGUFReader(path).tensors}


def test_a_merge_is_w_plus_alpha_over_rank_b_a(parts: tuple[Path, Path], tmp_path: Path) -> None:
    merge_adapter(*parts, tmp_path / "out.gguf", {"general.name": "merged", "own.number": 8})
    base, lora, out = tensors(parts[0]), tensors(parts[1]), tensors(tmp_path / "out.gguf")

    def whole(named: dict[str, tuple[gguf.GGMLQuantizationType, np.ndarray]], name: str) -> np.ndarray:
        return gguf.quants.dequantize(named[name][1], named[name][0])

    expected = whole(base, "w") + 2.0 * (whole(lora, "w.lora_b") @ whole(lora, "w.lora_a"))
    assert np.array_equal(out["w"][1], gguf.quants.quantize(expected, Q8_0))
    assert np.array_equal(out["plain"][1], gguf.quants.quantize(whole(base, "plain"), Q8_0))
    assert np.array_equal(out["kept"][1], base["kept"][1])
    assert np.array_equal(out["norm"][1], base["norm"][1])
    assert [kind for kind, _ in out.values()] == [Q8_0, Q8_0, Q8_0, gguf.GGMLQuantizationType.F32]
    head = read_head(tmp_path / "out.gguf")
    assert (head.scalars["general.name"], head.scalars["own.number"]) == ("merged", 8)
    assert find_tokens(head.path, ["b", "c"]) == {"b": 1}


def test_an_adapter_of_another_model_is_refused(parts: tuple[Path, Path], tmp_path: Path) -> None:
    values = np.ones((32, 32), dtype=np.float32)
    stray = write(tmp_path / "stray.gguf", {"x.lora_a": (values, Q8_0), "x.lora_b": (values, Q8_0)})
    with pytest.raises(InstallError, match=r"adapts x\.lora_a"):
        merge_adapter(parts[0], stray, tmp_path / "out.gguf", {})


@pytest.mark.model
def test_the_default_model_answers_as_the_true_merge(default_model: InstalledModel) -> None:
    checks = catalogue()["smollm2-135m-fim"].checks
    assert len({check.answer for check in checks if check.prefix == "def f(width,"}) == 3
    run_selftest(default_model.path, checks)
    with pytest.raises(InstallError, match="was made wrongly"):
        run_selftest(default_model.path, (Check("import", "\n\nprint(random.dumps({}))\n", " json"),))


@pytest.mark.model
def test_the_default_model_says_what_it_is(default_model: InstalledModel) -> None:
    head = read_head(default_model.path)
    assert head.scalars["tokenizer.ggml.fim_suf_token_id"] == 9
    assert head.scalars["tokenizer.ggml.fim_pre_token_id"] == 8
    assert head.scalars["general.file_type"] == 7
    assert head.parameters == 134_515_008
    assert dict(head.arrays) == {
        "general.languages": 1,
        "tokenizer.ggml.tokens": 49152,
        "tokenizer.ggml.token_type": 49152,
        "tokenizer.ggml.merges": 48900,
    }
    assert head.tensor_kinds == {0: 61, 8: 211}
