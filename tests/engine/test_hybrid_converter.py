"""A Qwen3.5 made by transformers and llama.cpp's converter: as the one of the other tests, and as exact.

Runs where torch and transformers are installed: in this interpreter, or in the one that the environment
variable VELOSPEC_TORCH_PYTHON names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import gguf
import numpy as np
import pytest

from tests.support.hybrid_models import QWEN35_SHAPE, QWEN35_TOKENS, write_qwen35
from tests.support.proposers import Oracle, eager_selector
from tests.support.vocabularies import sdist, vocabulary_file
from velospec import CancelToken, Limits
from velospec.backends.llama_cpp import LlamaBackend, LlamaOptions
from velospec.decode.decoder import Decoder, Task

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

PYTHON = os.environ.get("VELOSPEC_TORCH_PYTHON", sys.executable)
MAKER = Path(__file__).parent.parent / "support" / "random_qwen35.py"
PROMPT = "def total(items):\n    total = 0\n    for item in items:\n        total += item\n"


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    libraries = subprocess.run([PYTHON, "-c", "import torch, transformers"], check=False, capture_output=True)
    if libraries.returncode:
        pytest.skip("torch and transformers are not installed")
    folder = tmp_path_factory.mktemp("converter")
    with tarfile.open(sdist()) as archive:
        wanted = ("convert_hf_to_gguf.py", "conversion/", "gguf-py/")
        root = sdist().name.removesuffix(".tar.gz") + "/vendor/llama.cpp/"
        members = [m for m in archive if m.name.startswith(tuple(root + name for name in wanted))]
        archive.extractall(folder, members, filter="data")
    source = folder / root
    environment = {**os.environ, "PYTHONPATH": str(source / "gguf-py")}
    made, path = folder / "model", folder / "converted.gguf"
    arguments = [str(vocabulary_file("qwen2")), str(made), str(QWEN35_TOKENS), json.dumps(QWEN35_SHAPE)]
    subprocess.run([PYTHON, str(MAKER), *arguments], check=True, env=environment)
    converter = [str(source / "convert_hf_to_gguf.py"), str(made), "--outfile", str(path)]
    subprocess.run(
        [PYTHON, *converter, "--outtype", "q8_0", "--no-mtp"],
        check=True,
        env=environment,
        capture_output=True,
    )
    return path


def tensors(reader: gguf.GGUFReader) -> dict[str, tuple[list[int], str]]:
    return {item.name: (item.shape.tolist(), item.tensor_type.name) for item in reader.tensors}


def test_the_other_tests_model_has_the_same_tensors_and_metadata(converted: Path, tmp_path: Path) -> None:
    reader = gguf.GGUFReader(converted)
    own = gguf.GGUFReader(write_qwen35(tmp_path / "own.gguf", tokens=QWEN35_TOKENS))
    assert tensors(own) == tensors(reader)
    shape = {name for name in reader.fields if name.startswith(("qwen35.", "tokenizer."))}
    assert shape == {name for name in own.fields if name.startswith(("qwen35.", "tokenizer."))}
    for name in shape:
        if not name.startswith("tokenizer."):
            assert np.array_equal(own.fields[name].contents(), reader.fields[name].contents()), name


def test_drafts_change_nothing(converted: Path) -> None:
    backend = LlamaBackend(converted, LlamaOptions(context=512, slots=1))
    assert backend.can_rollback
    size = backend.vocabulary.size
    assert size == QWEN35_TOKENS
    task = Task("doc", backend.vocabulary.encode(PROMPT), Limits(max_tokens=64, ignore_end=True))
    plain = Decoder(backend, [], eager_selector()).complete(task, CancelToken())
    oracle = Oracle([*task.ids, *plain.token_ids], size, spoil=0.2)
    drafted = Decoder(backend, [oracle], eager_selector()).complete(task, CancelToken())
    assert drafted.token_ids == plain.token_ids
    assert drafted.statistics.drafted_tokens > drafted.statistics.accepted_tokens > 0
    backend.close()
