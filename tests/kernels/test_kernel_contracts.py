"""One broken argument for each clause of the contracts: the error names the argument and both values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from velospec_kernels._contract import MAX_VOCABULARY
from velospec_kernels.errors import ContractError
from velospec_kernels.fused_sample import Sample, fused_sample
from velospec_kernels.grammar_masked_argmax import MaskedArgmax, grammar_masked_argmax
from velospec_kernels.popcount_density import Density, popcount_density

LOGITS = np.zeros((3, 40), np.float32)
MASK = np.zeros((3, 2), np.int32)
READ_ONLY = np.zeros(3, np.float32)
READ_ONLY.flags.writeable = False


class FakeCudaTensor:
    """Says that it lies on a CUDA device, as a torch tensor says it; it has no memory to touch."""

    is_cuda = True

    def __init__(self, shape: tuple[int, ...], dtype: str, device: str = "cuda:0") -> None:
        self.shape, self.dtype, self.device = shape, f"torch.{dtype}", device

    def stride(self) -> tuple[int, ...]:
        return (*self.shape[1:], 1)

    def data_ptr(self) -> int:
        raise AssertionError("a broken call must be refused before memory is touched")


def outputs(**changed: Any) -> MaskedArgmax[Any, Any]:
    right = MaskedArgmax(*(np.zeros(3, dtype) for dtype in ("int32", "float32", "float32", "int32")))
    return right._replace(**changed)


GPU = FakeCudaTensor((3, 40), "bfloat16")


@pytest.mark.parametrize(
    ("logits", "mask", "options", "message"),
    [
        ([[1.0]], None, {}, "logits must be a numpy array or a CUDA tensor, got builtins.list."),
        (LOGITS[0], None, {}, "logits must have 2 dimensions, got shape [40]."),
        (LOGITS[:, :0], None, {}, f"vocabulary must be within 1 and {MAX_VOCABULARY}, got 0."),
        (LOGITS.astype(np.float64), None, {}, "logits must be float32, got float64."),
        (LOGITS.astype(">f4"), None, {}, "logits must be float32, got byte-swapped float32."),
        (LOGITS[:, ::2], None, {}, "logits must have stride 1 along its last dimension, got 2."),
        (LOGITS[:, ::-1], None, {}, "logits must have stride 1 along its last dimension, got -1."),
        (LOGITS, [0], {}, "mask must be a numpy array or a CUDA tensor, got builtins.list."),
        (LOGITS, MASK[0], {}, "mask must have 2 dimensions, got shape [2]."),
        (LOGITS, MASK[:2], {}, "mask must have shape [3, 2] (3 rows of 40 ids, 32 ids a word), got [2, 2]."),
        (
            LOGITS,
            MASK[:, :1],
            {},
            "mask must have shape [3, 2] (3 rows of 40 ids, 32 ids a word), got [3, 1].",
        ),
        (LOGITS, MASK.astype(np.int64), {}, "mask must be int32 or uint32, got int64."),
        (LOGITS, MASK.repeat(2, 1)[:, ::2], {}, "mask must have stride 1 along its last dimension, got 2."),
        (LOGITS, FakeCudaTensor((3, 2), "int32"), {}, "mask must be on cpu like logits, got cuda:0."),
        (
            GPU,
            FakeCudaTensor((3, 2), "int32", "cuda:1"),
            {},
            "mask must be on cuda:0 like logits, got cuda:1.",
        ),
        (FakeCudaTensor((3, 40), "float64"), None, {}, "float32 or float16 or bfloat16, got float64."),
        (
            LOGITS,
            MASK,
            {"backend": "fast"},
            "backend must be one of auto, reference, numpy, cuda, got 'fast'.",
        ),
        (LOGITS, MASK, {"backend": "cuda"}, "wants logits on a CUDA device, got it on cpu."),
        (GPU, None, {"backend": "numpy"}, "backend 'numpy' wants logits on the cpu, got it on cuda:0."),
        (
            GPU,
            None,
            {"backend": "reference"},
            "backend 'reference' wants logits on the cpu, got it on cuda:0.",
        ),
        (LOGITS, MASK, {"out": outputs(ids=MASK[:2, 0])}, "out.ids must have shape [3]"),
        (LOGITS, MASK, {"out": outputs(top1=np.zeros(3))}, "out.top1 must be float32, got float64."),
        (
            LOGITS,
            MASK,
            {"out": outputs(top2=READ_ONLY)},
            "out.top2 must be writeable, got a read-only array.",
        ),
        (LOGITS, MASK, {"out": outputs(counts=MASK[:, 0])}, "out.counts must have stride 1"),
        (GPU, None, {"out": outputs()}, "out.ids must be on cuda:0 like logits, got cpu."),
        (LOGITS, MASK, {"workspace": GPU}, "workspace must be None for backend 'numpy', got one."),
        (GPU, None, {"workspace": GPU}, "workspace must have 1 dimensions, got shape [3, 40]."),
        (GPU, None, {"workspace": FakeCudaTensor((9,), "int8")}, "workspace must be uint8, got int8."),
        (GPU, None, {"workspace": FakeCudaTensor((9,), "uint8")}, "at least 384 bytes, got 9."),
    ],
)
def test_masked_argmax_refuses(logits: Any, mask: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=re.escape(message)):
        grammar_masked_argmax(logits, mask, **options)


@pytest.mark.parametrize(
    ("mask", "vocabulary", "options", "message"),
    [
        (MASK[0], 40, {}, "mask must have 2 dimensions, got shape [2]."),
        (MASK, 0, {}, f"vocabulary must be within 1 and {MAX_VOCABULARY}, got 0."),
        (MASK, MAX_VOCABULARY + 1, {}, f"within 1 and {MAX_VOCABULARY}, got {MAX_VOCABULARY + 1}."),
        (MASK, 65, {}, "mask must have shape [3, 3] (3 rows of 65 ids, 32 ids a word), got [3, 2]."),
        (MASK.astype(np.uint8), 40, {}, "mask must be int32 or uint32, got uint8."),
        (MASK.repeat(2, 1)[:, ::2], 40, {}, "mask must have stride 1 along its last dimension, got 2."),
        (MASK, 40, {"backend": "cuda"}, "backend 'cuda' wants mask on a CUDA device, got it on cpu."),
        (
            MASK,
            40,
            {"out": Density(np.zeros(3, np.int64), np.zeros(3, np.float32))},
            "out.counts must be int32, got int64.",
        ),
        (
            MASK,
            40,
            {"out": Density(np.zeros(3, np.int32), np.zeros(2, np.float32))},
            "out.density must have shape [3] (one value for each row of mask), got [2].",
        ),
    ],
)
def test_popcount_density_refuses(mask: Any, vocabulary: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=re.escape(message)):
        popcount_density(mask, vocabulary, **options)


SETTINGS = np.zeros((3, 4), np.float32)
KEYS = np.zeros((3, 2), np.int64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"logits": LOGITS[0]}, "logits must have 2 dimensions, got shape [40]."),
        ({"logits": LOGITS.astype(np.float16)}, "logits must be float32, got float16."),
        ({"mask": MASK[:2]}, "mask must have shape [3, 2]"),
        ({"settings": SETTINGS[:, :3]}, "settings must have shape [3, 4] (4 values for each row of logits)"),
        ({"settings": SETTINGS.astype(np.float64)}, "settings must be float32, got float64."),
        ({"settings": np.zeros((3, 5), np.float32)[:, :4]}, "settings must have rows 4 apart, got 5."),
        ({"settings": FakeCudaTensor((3, 4), "float32")}, "settings must be on cpu like logits, got cuda:0."),
        ({"keys": KEYS[0]}, "keys must have shape [3, 2] (2 values for each row of logits), got [2]."),
        ({"keys": KEYS.astype(np.int32)}, "keys must be int64, got int32."),
        ({"out": Sample(SETTINGS[:, 0], SETTINGS[:, 0], MASK[:, 0])}, "out.ids must be int32, got float32."),
        ({"backend": "cuda"}, "backend 'cuda' wants logits on a CUDA device, got it on cpu."),
    ],
)
def test_fused_sample_refuses(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"logits": LOGITS, "settings": SETTINGS, "keys": KEYS, **options}
    with pytest.raises(ContractError, match=re.escape(message)):
        fused_sample(given.pop("logits"), given.pop("mask", None), **given)


def test_contract_errors_are_value_errors_with_cause_and_remedy() -> None:
    error = ContractError("a is wrong.", "Mend it.")
    assert isinstance(error, ValueError)
    assert (error.cause, error.remedy, str(error)) == ("a is wrong.", "Mend it.", "a is wrong. Mend it.")
