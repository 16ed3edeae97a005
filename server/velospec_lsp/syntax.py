"""The one place that knows tree-sitter: a text's syntax tree, and where its nodes lie in the text.

Which languages there are stands here. What their nodes mean is the matter of those who ask: of
`editing.bindings` for edits, of `completion.extent` for completions.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module

from tree_sitter import Language, Node, Parser

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

    def __init__(self, language: str, text: str) -> None:
        """Raises KeyError where there is no grammar for `language`."""
        self.text = text
        self._bytes = text.encode()
        self._ascii = len(self._bytes) == len(text)
        # A parser belongs to one parse: they keep state, and making one takes a few microseconds.
        self.root = Parser(_language(*GRAMMARS[language])).parse(self._bytes).root_node

    @cached_property
    def errors(self) -> int:
        """How many nodes are errors, or missing in the text."""
        if not self.root.has_error:
            return 0
        return sum(node.is_error or node.is_missing for node in walk(self.root, broken=True))

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


@cache
def _language(package: str, function: str) -> Language:
    module = import_module(f"tree_sitter_{package}")
    return Language(getattr(module, function)())
