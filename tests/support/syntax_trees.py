"""What tree-sitter says of real source files, to hold our own lexing against.

Files come from Python's standard library and, by way of its sdist, from llama-cpp-python's C, C++ and
JavaScript. Only files that tree-sitter reads without an error count.
"""

from __future__ import annotations

import sysconfig
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import tree_sitter

from tests.support import vocabularies

_STRINGS = frozenset(
    {
        "string",
        "template_string",
        "regex",
        "string_literal",
        "char_literal",
        "raw_string_literal",
        "interpreted_string_literal",
        "rune_literal",
        "character_literal",
        "format_specifier",
    }
)
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "hash_bang_line"})
_OPENERS = frozenset({"(", "[", "{", "${", "[["})
_CLOSERS = {")": "(", "]": "[", "}": "{", "]]": "[["}
# Left to a later pass by the grammar, or read otherwise on purpose.
_OPAQUE = frozenset({"preproc_arg", "system_lib_string", "jsx_text", "html_comment"})
_LEAST, _MOST = 700, 24_000  # bytes of a file
_PER_FOLDER = 25
_SUFFIXES = {"c": (".c", ".h"), "cpp": (".cpp", ".hpp", ".h"), "javascript": (".js",), "typescript": (".ts",)}


class Leaf(NamedTuple):
    start: int
    end: int
    type: str


class Tree(NamedTuple):
    """The leaves of a file, and at which offsets what is open changes.

    An entry of `changes` holds an offset and all that is open from there on, outermost first: `s` for a
    string, `c` for a comment, a bracket for itself. `opaque` are spans that tell nothing.
    """

    source: bytes
    leaves: list[Leaf]
    changes: list[tuple[int, str]]
    opaque: list[tuple[int, int]]


def trees(language: str, count: int) -> Iterator[Tree]:
    """The trees of `count` different files in `language`, or of as many as there are."""
    seen: set[bytes] = set()
    for source in _sources(language):
        if not _LEAST <= len(source) <= _MOST or b"\r" in source or source in seen:
            continue
        root = _parser(language).parse(source).root_node
        if root.has_error:
            continue
        seen.add(source)
        yield _tree(source, root)
        if len(seen) == count:
            return


@cache
def _parser(language: str) -> tree_sitter.Parser:
    module = import_module(f"tree_sitter_{language}")
    grammar = getattr(module, "language_typescript" if language == "typescript" else "language")
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def _sources(language: str) -> Iterator[bytes]:
    if language == "python":
        for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
            yield path.read_bytes()
        return
    yield from (source for name, source in _archived() if name.endswith(_SUFFIXES[language]))


@cache
def _archived() -> list[tuple[str, bytes]]:
    """Files of middling size from the sdist, at most a few of one folder."""
    found: list[tuple[str, bytes]] = []
    folders: Counter[tuple[str, str]] = Counter()
    wanted = {suffix for suffixes in _SUFFIXES.values() for suffix in suffixes}
    with tarfile.open(vocabularies.sdist()) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.suffix not in wanted or not _LEAST <= member.size <= _MOST:
                continue
            folders[str(path.parent), path.suffix] += 1
            file = archive.extractfile(member)
            if folders[str(path.parent), path.suffix] <= _PER_FOLDER and file is not None:
                found.append((path.name, file.read()))
    return found


def _tree(source: bytes, root: tree_sitter.Node) -> Tree:
    tree = Tree(source, [], [(0, "")], [])
    cursor = root.walk()
    open_: list[str] = []

    def change(offset: int) -> None:
        tree.changes.append((offset, "".join(open_)))

    def visit(node: tree_sitter.Node) -> None:
        mark = "s" if node.type in _STRINGS and node.is_named else "c" if node.type in _COMMENTS else ""
        if mark:
            open_.append(mark)
            change(node.start_byte + 1)
        if node.type in _OPAQUE:
            tree.opaque.append((node.start_byte, node.end_byte))
        if node.child_count == 0:
            tree.leaves.append(Leaf(node.start_byte, node.end_byte, node.type))
            _bracket(node, open_, change)
        else:
            for child in node.children:
                visit(child)
        if mark:
            open_.pop()
            # What is typed at the end of a line that is a comment goes on with the comment.
            change(node.end_byte + (mark == "c" and not source[: node.end_byte].endswith(b"*/")))

    assert cursor.node is not None
    visit(cursor.node)
    return tree


def _bracket(node: tree_sitter.Node, open_: list[str], change: Callable[[int], None]) -> None:
    if node.type in _OPENERS:
        open_.extend(node.type.removeprefix("$"))
        change(node.end_byte)
    elif node.type in _CLOSERS and "".join(open_).endswith(_CLOSERS[node.type]):
        del open_[-len(node.type) :]
        change(node.end_byte)
