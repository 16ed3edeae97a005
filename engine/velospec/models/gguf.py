"""Reads the head of a GGUF file: its metadata, and whether the file is whole. The weights are not touched.

The gguf library's reader builds an object for every token of the vocabulary (2 s for 50,000 tokens); this one
steps over arrays, so that a file of any size opens in milliseconds. It does not know what the keys mean.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Self

from velospec.core.errors import ModelLoadError

Scalar = str | int | float | bool
TOKENS = "tokenizer.ggml.tokens"

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_SCALARS = {
    number: struct.Struct("<" + code)
    for number, code in {
        0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
    }.items()
}  # fmt: skip
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_LARGEST_HEAD = 1 << 28


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
    with _open(path) as cursor:
        try:
            return _read(path, cursor)
        except (struct.error, UnicodeDecodeError, KeyError, OverflowError) as error:
            raise _damaged(path, "its head is damaged") from error


def find_tokens(path: Path, wanted: Iterable[str]) -> dict[str, int]:
    """The ids of those of the token texts `wanted` that the vocabulary of `path` has.

    Walks the token list without building it. Raises ModelLoadError as `read_head` does.
    """
    names = {text.encode(): text for text in wanted}
    lengths = {len(name) for name in names}
    found: dict[str, int] = {}
    with _tokens(path) as (cursor, count):
        for token in range(count):
            length = cursor.number(_U64)
            if length in lengths and (text := names.get(cursor.view[cursor.at : cursor.at + length])):
                found[text] = token
            cursor.at += length
    return found


def token_texts(path: Path, wanted: Iterable[int]) -> dict[int, str]:
    """The texts of those of the ids `wanted` that the vocabulary of `path` has.

    Raises ModelLoadError as `read_head` does.
    """
    texts: dict[int, str] = {}
    with _tokens(path) as (cursor, count):
        start = 0
        for token in sorted(token for token in set(wanted) if 0 <= token < count):
            cursor.at = _past_strings(cursor.view, cursor.at, token - start)
            texts[token] = cursor.string()
            start = token + 1
    return texts


@contextmanager
def _tokens(path: Path) -> Iterator[tuple[_Cursor, int]]:
    """A position at the first token of the vocabulary of `path`, and how many there are; 0 where none."""
    with _open(path) as cursor:
        try:
            _, pairs = cursor.head()
            for _ in range(pairs):
                key, kind = cursor.string(), cursor.number(_U32)
                if key == TOKENS:
                    cursor.number(_U32)
                    yield cursor, cursor.number(_U64)
                    return
                cursor.skip(kind)
            yield cursor, 0
        except (struct.error, UnicodeDecodeError, KeyError, OverflowError) as error:
            raise _damaged(path, "its head is damaged") from error


class _Cursor:
    """A position in a mapped file, moved by reading."""

    def __init__(self, view: mmap.mmap) -> None:
        self.view, self.at = view, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.view.close()

    def head(self) -> tuple[int, int]:
        """Number of tensors and of key-value pairs."""
        self.at = len(_MAGIC)
        version = self.number(_U32)
        if version not in {2, 3}:
            raise KeyError(version)
        return self.number(_U64), self.number(_U64)

    def number(self, form: struct.Struct) -> int:
        (value,) = form.unpack_from(self.view, self.at)
        self.at += form.size
        return int(value)

    def string(self) -> str:
        length = self.number(_U64)
        if length > _LARGEST_HEAD:
            raise OverflowError(length)
        self.at += length
        return self.view[self.at - length : self.at].decode()

    def value(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self.string()
        form = _SCALARS[kind]
        (value,) = form.unpack_from(self.view, self.at)
        self.at += form.size
        result: Scalar = value
        return result

    def skip(self, kind: int) -> int:
        """Step over a value; for an array, return its length."""
        if kind == _STRING:
            length = self.number(_U64)  # moves `at` itself
            self.at += length
            return 1
        if kind != _ARRAY:
            self.at += _SCALARS[kind].size
            return 1
        inner, count = self.number(_U32), self.number(_U64)
        if inner in _SCALARS:
            self.at += _SCALARS[inner].size * count
        elif inner == _STRING:
            self.at = _past_strings(self.view, self.at, count)
        else:
            for _ in range(count):
                self.skip(inner)
        return count


def _past_strings(view: mmap.mmap, at: int, count: int) -> int:
    """The position after `count` strings; a tight loop, since vocabularies have 300,000 of them."""
    unpack = _U64.unpack_from
    for _ in range(count):
        at += 8 + unpack(view, at)[0]
    return at


def _open(path: Path) -> _Cursor:
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise _damaged(path, "it is not a GGUF file")
            return _Cursor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ModelLoadError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its rights."
        ) from error


def _read(path: Path, cursor: _Cursor) -> GgufHead:
    tensors, pairs = cursor.head()
    scalars: dict[str, Scalar] = {}
    arrays: dict[str, int] = {}
    for _ in range(pairs):
        key, kind = cursor.string(), cursor.number(_U32)
        if kind == _ARRAY:
            arrays[key] = cursor.skip(kind)
        else:
            scalars[key] = cursor.value(kind)
    kinds, parameters, end = _tensor_table(cursor, tensors)
    alignment = int(scalars.get("general.alignment", 32))
    data_start = -(-cursor.at // alignment) * alignment
    if tensors and data_start + end > len(cursor.view):
        missing = data_start + end - len(cursor.view)
        raise _damaged(path, f"it is cut short, {missing:,} bytes are missing")
    return GgufHead(path, MappingProxyType(scalars), MappingProxyType(arrays), tensors, kinds, parameters)


def _tensor_table(cursor: _Cursor, count: int) -> tuple[dict[int, int], int, int]:
    """How many tensors of each ggml type, all their elements, and where the data of the last one ends."""
    kinds: dict[int, int] = {}
    parameters = end = 0
    sizes = _block_sizes()
    for _ in range(count):
        cursor.string()
        elements = 1
        for _ in range(cursor.number(_U32)):
            elements *= cursor.number(_U64)
        kind, offset = cursor.number(_U32), cursor.number(_U64)
        kinds[kind] = kinds.get(kind, 0) + 1
        parameters += elements
        block, size = sizes.get(kind, (1, 0))  # a type newer than the library is left to llama.cpp
        end = max(end, offset + elements // block * size)
    return kinds, parameters, end


def _block_sizes() -> dict[int, tuple[int, int]]:
    """Elements and bytes of one block, by ggml type."""
    from gguf.constants import GGML_QUANT_SIZES  # noqa: PLC0415 - 0.1 s that a plain import should not cost

    return {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}


def _damaged(path: Path, why: str) -> ModelLoadError:
    return ModelLoadError(f"{path} cannot be used: {why}.", "Download it again, or choose another file.")
