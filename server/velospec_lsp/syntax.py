"""The one place that knows tree-sitter: a text's syntax tree, and where its nodes lie in the text.

Which languages there are stands here. What their nodes mean is the matter of those who ask: of
`editing.bindings` for edits, of `completion.extent` for completions.
"""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module

from tree_sitter import Language, Node, Parser, Tree

GRAMMARS: dict[str, tuple[str, str]] = {
    "python": ("python", "language"),
    "javascript": ("javascript", "language"),
    "javascriptreact": ("javascript", "language"),
    "typescript": ("typescript", "language_typescript"),
    "typescriptreact": ("typescript", "language_tsx"),
    "go": ("go", "language"),
    "rust": ("rust", "language"),
    "java": ("java", "language"),
    "c": ("c", "language"),
    "cpp": ("cpp", "language"),
    "json": ("json", "language"),
    "shellscript": ("bash", "language"),
    "sh": ("bash", "language"),
    "bash": ("bash", "language"),
    "html": ("html", "language"),
    "css": ("css", "language"),
}
"""By language id of the protocol: the package's name without its beginning, and its function."""


class Syntax:
    """The tree of one text. Offsets are characters of the text, as everywhere but in tree-sitter."""

    def __init__(self, language: str, text: str, before: Syntax | None = None) -> None:
        """Raises KeyError where there is no grammar for `language`.

        With `before`, the tree of an earlier text in the same language, only what differs is parsed anew; the
        tree is the same. `before` stays as it is.
        """
        self.text = text
        self._bytes = text.encode()
        self._ascii = len(self._bytes) == len(text)
        # A parser belongs to one parse: they keep state, and making one takes a few microseconds.
        parser = Parser(_language(*GRAMMARS[language]))
        old = before and before.edited(self._bytes)
        self._tree: Tree = parser.parse(self._bytes, old) if old else parser.parse(self._bytes)
        self.root = self._tree.root_node

    @cached_property
    def errors(self) -> int:
        """How many nodes are errors, or missing in the text."""
        if not self.root.has_error:
            return 0
        return sum(node.is_error or node.is_missing for node in walk(self.root, broken=True))

    def edited(self, new: bytes) -> Tree:
        """A copy of the tree that knows where the text `new` differs: from one place to another.

        Comparing the texts costs next to nothing, and nobody needs to keep edits that must fit the tree.
        """
        old = self._bytes
        limit = min(len(old), len(new))
        start = _alike(lambda count: old[:count] == new[:count], limit)
        same = _alike(lambda count: old[len(old) - count :] == new[len(new) - count :], limit - start)
        while start and start < len(old) and _continues(old[start]):
            start -= 1  # whole characters only
        while same and _continues(old[-same]):
            same -= 1
        old_end, new_end = len(old) - same, len(new) - same
        points = (_point(old, start), _point(old, old_end), _point(new, new_end))
        tree = self._tree.copy()
        tree.edit(start, old_end, new_end, *points)
        return tree

    def start(self, node: Node) -> int:
        """Where `node` begins."""
        return self._offset(node.start_byte)

    def end(self, node: Node) -> int:
        """Where `node` ends."""
        return self._offset(node.end_byte)

    def of(self, node: Node) -> str:
        """The text of `node`."""
        return self._bytes[node.start_byte : node.end_byte].decode()

    def at(self, start: int, end: int | None = None) -> Node:
        """The smallest named node that spans the characters from `start` to `end`."""
        first = self._byte(start)
        found = self.root.named_descendant_for_byte_range(first, first if end is None else self._byte(end))
        return found or self.root

    def beside(self, line: int, index: int) -> Node:
        r"""The smallest node with the character before `index` in `line`; at a line's start, the one behind.

        Meant for texts with \n line ends only, in which tree-sitter counts lines as the editor does.
        """
        content = self.lines[line] if line < len(self.lines) else ""
        column = len(content[:index].encode())
        before = column - len(content[index - 1 : index].encode()) if index else column
        found = self.root.descendant_for_point_range((line, before), (line, column))
        return found or self.root

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return self.text.split("\n")

    def byte_at(self, line: int, index: int) -> int:
        r"""How many bytes of the text, which has \n line ends only, lie before `index` in `line`."""
        before = sum(map(len, self.lines[:line])) + line
        if not self._ascii:
            before = len(self.text[:before].encode())
        return before + len(self.lines[line][:index].encode())

    def _offset(self, at: int) -> int:
        return at if self._ascii else len(self._bytes[:at].decode())

    def _byte(self, offset: int) -> int:
        return offset if self._ascii else len(self.text[:offset].encode())


def syntax_of(language: str, text: str) -> Syntax | None:
    """The tree of `text`; None where there is no grammar for `language`."""
    return Syntax(language, text) if language in GRAMMARS else None


def breaks(before: Syntax, language: str, after: str) -> bool:
    """Whether the text `after` has errors that the one of `before` has not.

    tree-sitter takes Python's blocks as they come, indented or not; Python itself is asked too.
    """
    if Syntax(language, after).errors > before.errors:
        return True
    return language == "python" and _is_python(before.text) and not _is_python(after)


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes, about which nobody asked
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def walk(node: Node, *, broken: bool = False) -> Iterator[Node]:
    """`node` and all below it in the order of the text; with `broken` only what holds an error."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        children = current.children
        stack.extend(
            child for child in reversed(children) if not broken or child.has_error or child.is_missing
        )


def ancestors(node: Node) -> Iterator[Node]:
    """The nodes around `node`, nearest first."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent


def field_of(node: Node) -> str | None:
    """The name under which `node` stands in its parent."""
    parent = node.parent
    if parent is None:
        return None
    place = next((at for at, child in enumerate(parent.children) if child == node), None)
    return None if place is None else parent.field_name_for_child(place)


def _alike(alike: Callable[[int], bool], most: int) -> int:
    """The largest count up to `most` for which `alike` holds, as it does for all smaller ones."""
    return bisect_left(range(1, most + 1), 1, key=lambda count: not alike(count))


def _continues(octet: int) -> bool:
    return octet & 0xC0 == 0x80


def _point(text: bytes, at: int) -> tuple[int, int]:
    return text.count(b"\n", 0, at), at - (text.rfind(b"\n", 0, at) + 1)


@cache
def _language(package: str, function: str) -> Language:
    module = import_module(f"tree_sitter_{package}")
    return Language(getattr(module, function)())
