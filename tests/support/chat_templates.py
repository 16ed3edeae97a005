"""Chat templates of the field, from the llama.cpp source inside llama-cpp-python's sdist.

Templates belong to their models, under licences of all kinds: none is kept in the repository.
"""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from tests.support.vocabularies import sdist
from velospec.models.chat import ChatFormat

_FOLDER = "/vendor/llama.cpp/models/templates/"
MARKS = {"bos_token": "<s>", "eos_token": "</s>"}


@cache
def templates() -> dict[str, str]:
    """All templates, by their names there without `.jinja`."""
    folder = sdist().with_suffix(".templates")
    if not folder.is_dir():
        draft = folder.with_suffix(".part")
        draft.mkdir(exist_ok=True)
        with tarfile.open(sdist()) as archive:
            for member in archive:
                if _FOLDER in member.name and member.name.endswith(".jinja"):
                    file = archive.extractfile(member)
                    assert file is not None
                    (draft / Path(member.name).name).write_bytes(file.read())
        draft.replace(folder)
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.jinja"))}


@cache
def chat_format(name: str) -> ChatFormat:
    """The format of the template `name`."""
    return ChatFormat.of(name, templates()[name], MARKS)
