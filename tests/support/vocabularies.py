"""Vocabularies of real models without weights, from the llama.cpp source inside llama-cpp-python's sdist.

The sdist is downloaded once into the checkout's cache, by pip; a test that needs it fails where it cannot be
had.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from velospec.backends.llama_cpp import LlamaVocabulary, open_vocabulary

_FOLDER = Path(__file__).parent.parent.parent / ".cache" / "vocabularies"
_SOURCE = "vendor/llama.cpp/models/ggml-vocab-{name}.gguf"


def vocabulary_file(name: str) -> Path:
    """The file of the vocabulary `name`, such as `starcoder`."""
    release = version("llama-cpp-python")
    path = _FOLDER / release / f"{name}.gguf"
    if not path.is_file():
        with tarfile.open(sdist()) as archive:
            member = archive.extractfile(f"llama_cpp_python-{release}/{_SOURCE.format(name=name)}")
            assert member is not None
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".part")
            draft.write_bytes(member.read())
            draft.replace(path)
    return path


@cache
def vocabulary(name: str) -> LlamaVocabulary:
    """The loaded vocabulary `name`, kept for the whole run."""
    return open_vocabulary(vocabulary_file(name))


@cache
def sdist() -> Path:
    """The source distribution of the installed llama-cpp-python."""
    release = version("llama-cpp-python")
    found = _FOLDER / f"llama_cpp_python-{release}.tar.gz"
    if not found.is_file():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", f"llama-cpp-python=={release}", "--no-deps",
             "--no-binary", "llama-cpp-python", "--dest", str(_FOLDER)],
            check=True,
        )  # fmt: skip
    return found
