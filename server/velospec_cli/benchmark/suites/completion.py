"""Cursors in real files: someone writes a function of a library whose other files the engine has learned.

The files are those of Python libraries that VeloSpec depends on, so that they are always there. None of them
is a source of a shipped rule. For each cursor the engine learns the library's files but the cursor's own and
those that are nearly the same as it.

A cursor stands in a function, at the beginning of a statement, inside of one, or in a block's first line.
What its author wrote from there on, up to the end of the third statement, is taken out: that is what a user
has not written yet. Places are drawn by a generator seeded with the file's name.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path

from velospec.core.errors import VeloSpecError
from velospec_cli.benchmark.suites.prompt import Prompt

SIZE = 40
LIBRARIES = ("pathspec", "gguf", "llama_cpp")
_PLACES = 3  # drawn in each file, in functions of their own
_SMALLEST, _LARGEST = 4_000, 70_000  # characters of a file: what is beyond is a stub or data
_TAKEN = 3  # statements from the cursor on that are taken out
_NEAR = 0.3  # of a file's telling lines in another one: then it is nearly the same
_TELLING = 20  # characters of a line that is more than a habit


@dataclass(frozen=True, slots=True)
class Library:
    """The Python files of one installed package."""

    name: str
    root: Path
    files: tuple[Path, ...]

    def others(self, file: Path) -> tuple[Path, ...]:
        """All files but `file` and what is nearly the same."""
        mine = telling_lines(file.read_text("utf-8"))
        return tuple(
            other
            for other in self.files
            if other != file and not nearly_same(mine, telling_lines(other.read_text("utf-8")))
        )


def load() -> tuple[Prompt, ...]:
    """Cursors of all libraries in turn, those of one file together. Raises VeloSpecError."""
    by_library = [prompts_by_file(library) for library in map(find_library, LIBRARIES)]
    turns = chain.from_iterable(zip_longest(*by_library, fillvalue=()))
    return tuple(chain.from_iterable(turns))


def find_library(name: str) -> Library:
    """The installed package `name`, found without running it. Raises VeloSpecError."""
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        cause = f"The suite completion needs the library {name}, which is not installed."
        raise VeloSpecError(cause, "Install VeloSpec again, with its dependencies.")
    root = Path(found.submodule_search_locations[0])
    return Library(name, root, tuple(sorted(root.rglob("*.py"))))


def telling_lines(text: str) -> frozenset[str]:
    """The lines, without indentation, that are long enough to tell a file from another."""
    return frozenset(line for each in text.splitlines() if len(line := each.strip()) >= _TELLING)


def nearly_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether much of the shorter one of two files stands in the other."""
    least = min(len(one), len(other))
    return least > 0 and len(one & other) > _NEAR * least


def prompts_by_file(library: Library) -> Iterator[tuple[Prompt, ...]]:
    """The cursors of each file that is neither too small nor too large."""
    for file in library.files:
        prompts = prompts_of(library, file)
        if prompts is not None:
            yield prompts


def prompts_of(library: Library, file: Path) -> tuple[Prompt, ...] | None:
    """The cursors of one file of a library; None where it is too small or too large."""
    text = file.read_text("utf-8").replace("\r\n", "\n")
    if not _SMALLEST <= len(text) <= _LARGEST:
        return None
    name = f"{library.name}/{file.relative_to(library.root).as_posix()}"
    corpus = library.others(file)
    return tuple(
        Prompt(f"{name}:{text.count(chr(10), 0, start) + 1}", text[:start], text[end:], name, corpus)
        for start, end in draw_places(text, seed=name)
    )


def draw_places(text: str, *, seed: str) -> list[tuple[int, int]]:
    """Cursors in the functions of a Python file, and where what is taken out ends; offsets in characters."""
    lines = text.splitlines(keepends=True)
    if not text.isascii():  # the parser counts columns in bytes
        return []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    generator = random.Random(seed)  # noqa: S311 - draws places, no secrets
    functions = [blocks for blocks in map(list, _blocks_by_function(ast.parse(text))) if blocks]
    drawn = generator.sample(functions, min(_PLACES, len(functions)))
    return sorted(_place(text, starts, generator.choice(blocks), generator) for blocks in drawn)


def _blocks_by_function(tree: ast.AST) -> Iterator[Iterator[list[ast.stmt]]]:
    """For each function that is no other one's part: three statements in a row, from each that is no text."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _blocks(node)
        else:
            yield from _blocks_by_function(node)


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                for index in range(len(block) - _TAKEN + 1):
                    if not _is_text(block[index]):
                        yield block[index : index + _TAKEN]


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _place(text: str, starts: list[int], block: list[ast.stmt], generator: random.Random) -> tuple[int, int]:
    """A cursor at the first statement of `block` or in its first line, and the end of the last statement."""
    first, last = block[0], block[-1]
    start = starts[first.lineno - 1] + first.col_offset
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or 0)
    line_end = text.find("\n", start, end)
    words = [
        index
        for index in range(start, line_end if line_end >= 0 else end)
        if index == start or (text[index - 1] in " .(=" and text[index].isalnum())
    ]
    return generator.choice(words), end
