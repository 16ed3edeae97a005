"""The Triton form in Triton's interpreter; on a GPU `test_kernels_cuda` has it compiled."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.support.repository import ROOT
from velospec_kernels.errors import BuildError, ContractError
from velospec_kernels.fused_logit_processor import fused_logit_processor, workspace_words

LOGITS = np.zeros((3, 40), np.float32)
has_triton = importlib.util.find_spec("triton") is not None
needs_triton = pytest.mark.skipif(not has_triton, reason="triton is not installed")


@needs_triton
def test_equals_the_masked_argmax_in_the_interpreter() -> None:
    path = os.pathsep.join([str(ROOT / "kernels"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.interpreted_processor"],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("175 cases agree\n", 0), done.stderr


@needs_triton
def test_numpy_arrays_are_for_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(BuildError, match=r"in its interpreter only. Set TRITON_INTERPRET=1"):
        fused_logit_processor(LOGITS)


@pytest.mark.skipif(has_triton, reason="triton is installed")
def test_without_triton_the_error_says_what_to_install() -> None:
    with pytest.raises(BuildError, match=r"Triton is not installed .* pip install 'velospec\[torch\]'"):
        fused_logit_processor(LOGITS)


def test_the_contract_is_that_of_the_masked_argmax() -> None:
    with pytest.raises(ContractError, match="logits must be float32, got float64"):
        fused_logit_processor(LOGITS.astype(np.float64))
    with pytest.raises(ContractError, match=r"mask must have shape \[3, 2\]"):
        fused_logit_processor(LOGITS, np.zeros((3, 1), np.int32))


def test_workspace_holds_a_ticket_a_row_and_four_words_a_program() -> None:
    assert [workspace_words(*size) for size in [(1, 1), (2, 4096), (2, 4097), (12, 248_320)]] == [
        5,
        10,
        18,
        2940,
    ]
