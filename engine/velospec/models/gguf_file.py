"""Reads values out of a GGUF file one after the other, without building what is not asked for.

The gguf library's reader builds an object for every token of the vocabulary (2 s for 50,000 tokens); this one
steps over arrays, so that a file of any size opens in milliseconds. It does not know what the keys mean.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from velospec.core.errors import ModelLoadError

Scalar = str | int | float | bool
U32, U64 = struct.Struct("<I"), struct.Struct("<Q")
ARRAY = 9

_MAGIC = b"GGUF"
_STRING = 8
_SCALARS = {
    number: struct.Struct("<" + code)
    for number, code in {
        0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
    }.items()
}  # fmt: skip
_LARGEST_HEAD = 1 << 28


@contextmanager
def opened(path: Path) -> Iterator[Cursor]:
    """A cursor at the start of `path`; what its body cannot read of the file becomes a ModelLoadError."""
    with _open(path) as cursor:
        try:
            yield cursor
        except (struct.error, UnicodeDecodeError, KeyError, OverflowError) as error:
            raise damaged(path, "its head is damaged") from error


@contextmanager
def at_array(path: Path, wanted: str) -> Iterator[tuple[Cursor, int]]:
    """A cursor at the first item of the array `wanted` of `path`, and how many there are; 0 where none.

    Raises ModelLoadError as `opened` does.
    """
    with opened(path) as cursor:
        _, pairs = cursor.head()
        for _ in range(pairs):
            key, kind = cursor.string(), cursor.number(U32)
            if key == wanted and kind == ARRAY:
                cursor.number(U32)
                yield cursor, cursor.number(U64)
                return
            cursor.skip(kind)
        yield cursor, 0


class Cursor:
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
        version = self.number(U32)
        if version not in {2, 3}:
            raise KeyError(version)
        return self.number(U64), self.number(U64)

    def number(self, form: struct.Struct) -> int:
        (value,) = form.unpack_from(self.view, self.at)
        self.at += form.size
        return int(value)

    def string(self) -> str:
        length = self.number(U64)
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
            length = self.number(U64)  # moves `at` itself
            self.at += length
            return 1
        if kind != ARRAY:
            self.at += _SCALARS[kind].size
            return 1
        inner, count = self.number(U32), self.number(U64)
        if inner in _SCALARS:
            self.at += _SCALARS[inner].size * count
        elif inner == _STRING:
            self.at = past_strings(self.view, self.at, count)
        else:
            for _ in range(count):
                self.skip(inner)
        return count


def past_strings(view: mmap.mmap, at: int, count: int) -> int:
    """The position after `count` strings; a tight loop, since vocabularies have 300,000 of them."""
    unpack = U64.unpack_from
    for _ in range(count):
        at += 8 + unpack(view, at)[0]
    return at


def _open(path: Path) -> Cursor:
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise damaged(path, "it is not a GGUF file")
            return Cursor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ModelLoadError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its rights."
        ) from error


def damaged(path: Path, why: str) -> ModelLoadError:
    """The error for a file that is not what it should be."""
    return ModelLoadError(f"{path} cannot be used: {why}.", "Download it again, or choose another file.")
