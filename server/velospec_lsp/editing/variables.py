"""Where a name stands in a syntax tree, what binds it there, and which scope a place belongs to.

Reads the tables of `bindings`. In languages where a name is visible from its declaration on, a place belongs
to the outermost scope around it that binds the name: which of the variables there it is does not matter to
whoever treats them all alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from tree_sitter import Node

from velospec_lsp.editing.bindings import Rules
from velospec_lsp.syntax import Syntax, ancestors, field_of

MEMBER_SCOPES = frozenset(
    {"class_body", "class_definition", "field_declaration_list", "impl_item", "mod_item"}
)
"""What is bound in these can be reached from elsewhere, as a member."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A place that binds the name. `passed` leads from the name's parent up to the node that binds it."""

    node: Node
    scope: Node
    passed: tuple[Node, ...]


class Variables:
    """All variables of one name: their `nodes` and `bindings`, and every node that mentions the name."""

    def __init__(self, syntax: Syntax, rules: Rules, name: str) -> None:
        self._syntax = syntax
        self._rules = rules
        self.mentioned = list(mentions(syntax, name))
        self.nodes = [node for node in self.mentioned if self._is_variable(node)]
        found = map(self._binding, self.nodes)
        self._bound = {binding.node.id: binding for binding in found if binding is not None}
        self._scopes = {binding.scope.id for binding in self.bindings}

    @property
    def bindings(self) -> list[Binding]:
        return list(self._bound.values())

    def region(self, node: Node) -> Node | None:
        """The scope that the variable at `node` belongs to; None where nothing binds it."""
        around = [each for each in ancestors(node) if each.id in self._scopes]
        own = self._bound.get(node.id)
        if own is not None:
            # A function's own name stands within the function, but belongs to what is around it.
            around = [each for each in around if within(own.scope, each)]
        if not around:
            return None
        if self._rules.hoisted:
            return own.scope if own is not None else around[0]
        # What a class or the file binds is another variable than what a function in it does.
        inner = list(takewhile(lambda each: each.parent and each.type not in MEMBER_SCOPES, around))
        return inner[-1] if inner else around[0]

    def around(self, node: Node, scopes: frozenset[str] | None = None) -> Node:
        """The nearest scope around `node`, of all kinds or of those in `scopes`."""
        kinds = self._rules.scopes if scopes is None else scopes
        return next((each for each in ancestors(node) if each.type in kinds), self._syntax.root)

    def _is_variable(self, node: Node) -> bool:
        rules, parent = self._rules, node.parent
        if node.type not in rules.names or parent is None:
            return False
        if (parent.type, field_of(node)) in rules.members:
            return False
        return parent.type != "token_tree" or not _after_dot(node)

    def _binding(self, node: Node) -> Binding | None:
        """What `node` binds, if it does; found by climbing through what patterns are made of."""
        rules, inner = self._rules, node
        passed: list[Node] = []
        while (parent := inner.parent) is not None:
            passed.append(parent)
            field = field_of(inner)
            place = (parent.type, field)
            if place in rules.binds_outside:
                return Binding(node, self.around(parent, rules.functions or None), tuple(passed))
            if place in rules.binds:
                marks = (
                    {child.type for child in parent.children[:4]} if parent.type in rules.assigns else set()
                )
                if parent.type in rules.assigns and not marks & rules.declaring:
                    return None
                kinds = marks | {parent.type, parent.parent.type if parent.parent else ""}
                scopes = rules.functions if kinds & rules.hoisting else None
                return Binding(node, self.around(inner, scopes), tuple(passed))
            if field not in rules.patterns.get(parent.type, frozenset()):
                return None
            inner = parent
        return None


def mentions(syntax: Syntax, name: str) -> Iterator[Node]:
    """The smallest node at each place where `name` stands as a word."""
    for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", syntax.text):
        yield syntax.at(match.start(), match.end())


def within(node: Node, region: Node) -> bool:
    """Whether `node` lies in `region`."""
    return region.start_byte <= node.start_byte and node.end_byte <= region.end_byte


def _after_dot(node: Node) -> bool:
    """Whether a word of a Rust macro is a field, or part of a path."""
    before, behind = node.prev_sibling, node.next_sibling
    return (before is not None and before.type in {".", "::"}) or (behind is not None and behind.type == "::")
