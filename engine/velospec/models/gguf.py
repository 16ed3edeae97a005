"""Reads the head of a GGUF file: its metadata, and whether the file is whole. The weights are not touched.

A file of any size opens in milliseconds. Does not know what the keys mean, but for the token list.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from velospec.models.gguf_file import ARRAY, U32, U64, Cursor, Scalar, at_array, damaged, opened, past_strings

TOKENS = "tokenizer.ggml.tokens"
TYPES = "tokenizer.ggml.token_type"
CONTROL = 3  # of these types


@dataclass(frozen=True, slots=True)
class GgufHead:
    """What the head of a GGUF file says. `arrays` gives the length of each array, not its items."""

    path: Path
    scalars: Mapping[str, Scalar]
    arrays: Mapping[str, int]
    tensors: int
    tensor_kinds: Mapping[int, int]  # ggml type -> number of tensors
    parameters: int

    @property
    def architecture(self) -> str:
        return str(self.scalars.get("general.architecture", ""))

    @property
    def vocabulary_only(self) -> bool:
        return self.tensors == 0


def read_head(path: Path) -> GgufHead:
    """Read the head of `path`. Raises ModelLoadError if it is no GGUF file, or cut short."""
    with opened(path) as cursor:
        return _read(path, cursor)


def find_tokens(path: Path, wanted: Iterable[str]) -> dict[str, int]:
    """The ids of those of the token texts `wanted` that the vocabulary of `path` has.

    Walks the token list without building it. Raises ModelLoadError as `read_head` does.
    """
    names = {text.encode(): text for text in wanted}
    lengths = {len(name) for name in names}
    found: dict[str, int] = {}
    with at_array(path, TOKENS) as (cursor, count):
        for token in range(count):
            length = cursor.number(U64)
            if length in lengths and (text := names.get(cursor.view[cursor.at : cursor.at + length])):
                found[text] = token
            cursor.at += length
    return found


def tokens_of(path: Path, kind: int) -> list[int]:
    """The ids of the tokens of type `kind` in the vocabulary of `path`. Raises ModelLoadError as above."""
    with at_array(path, TYPES) as (cursor, count):
        kinds = struct.unpack_from(f"<{count}i", cursor.view, cursor.at)
    return [token for token, found in enumerate(kinds) if found == kind]


def token_texts(path: Path, wanted: Iterable[int]) -> dict[int, str]:
    """The texts of those of the ids `wanted` that the vocabulary of `path` has.

    Raises ModelLoadError as `read_head` does.
    """
    texts: dict[int, str] = {}
    with at_array(path, TOKENS) as (cursor, count):
        start = 0
        for token in sorted(token for token in set(wanted) if 0 <= token < count):
            cursor.at = past_strings(cursor.view, cursor.at, token - start)
            texts[token] = cursor.string()
            start = token + 1
    return texts


def _read(path: Path, cursor: Cursor) -> GgufHead:
    tensors, pairs = cursor.head()
    scalars: dict[str, Scalar] = {}
    arrays: dict[str, int] = {}
    for _ in range(pairs):
        key, kind = cursor.string(), cursor.number(U32)
        if kind == ARRAY:
            arrays[key] = cursor.skip(kind)
        else:
            scalars[key] = cursor.value(kind)
    kinds, parameters, end = _tensor_table(cursor, tensors)
    alignment = int(scalars.get("general.alignment", 32))
    data_start = -(-cursor.at // alignment) * alignment
    if tensors and data_start + end > len(cursor.view):
        missing = data_start + end - len(cursor.view)
        raise damaged(path, f"it is cut short, {missing:,} bytes are missing")
    return GgufHead(path, MappingProxyType(scalars), MappingProxyType(arrays), tensors, kinds, parameters)


def _tensor_table(cursor: Cursor, count: int) -> tuple[dict[int, int], int, int]:
    """How many tensors of each ggml type, all their elements, and where the data of the last one ends."""
    kinds: dict[int, int] = {}
    parameters = end = 0
    sizes = _block_sizes()
    for _ in range(count):
        cursor.string()
        elements = 1
        for _ in range(cursor.number(U32)):
            elements *= cursor.number(U64)
        kind, offset = cursor.number(U32), cursor.number(U64)
        kinds[kind] = kinds.get(kind, 0) + 1
        parameters += elements
        block, size = sizes.get(kind, (1, 0))  # a type newer than the library is left to llama.cpp
        end = max(end, offset + elements // block * size)
    return kinds, parameters, end


def _block_sizes() -> dict[int, tuple[int, int]]:
    """Elements and bytes of one block, by ggml type."""
    from gguf.constants import GGML_QUANT_SIZES  # noqa: PLC0415 - 0.1 s that a plain import should not cost

    return {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
