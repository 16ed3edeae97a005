"""Renaming one variable: where it stands, proven by the tables of `bindings`, or why that is not certain.

One document is all that is looked at, so a name that other files can use is not renamed. In languages where a
name is visible from its declaration on, all variables of that name within the outermost scope that binds it
are renamed together, which keeps the meaning whatever shadows what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from tree_sitter import Node

from velospec_lsp.editing.bindings import RULES, Rules
from velospec_lsp.editing.source import Change, Source
from velospec_lsp.editing.syntax import Syntax, ancestors, field_of

_MEMBER_SCOPES = frozenset(
    {"class_body", "class_definition", "field_declaration_list", "impl_item", "mod_item"}
)
_INITIAL = ("value", "right", "alternative")
_PYTHON_OPEN = "callers may pass it by its name"
_ELSEWHERE = "other files may use it"


class NotProvenError(Exception):
    """Why the occurrences of a name are not known for certain; the text is a clause for the user."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name at the cursor. `node` is where it stands there."""

    name: str
    node: Node


@dataclass(frozen=True, slots=True)
class _Binding:
    node: Node
    scope: Node
    passed: tuple[Node, ...]  # from the name's parent up to the node that binds it


def symbol_at(source: Source, syntax: Syntax, offset: int) -> Symbol | None:
    """The identifier that `offset` lies in or right behind; None where there is none."""
    for at in dict.fromkeys((offset, max(offset - 1, 0))):
        node = syntax.at(at, min(at + 1, len(source.text)))
        if "identifier" in node.type and re.fullmatch(r"[^\W\d][\w$]*", text := syntax.of(node)):
            return Symbol(text, node)
    return None


def occurrences(source: Source, syntax: Syntax, symbol: Symbol) -> list[Node]:
    """All places where the variable `symbol` stands. Raises NotProvenError."""
    rules = RULES.get(source.document.language)
    if rules is None:
        raise NotProvenError(f"nothing is known of the scopes of {source.document.language}")
    return _Finder(syntax, rules, symbol).find()


def rename(syntax: Syntax, language: str, places: Sequence[Node], new: str) -> list[Change]:
    """The changes that give the variable at `places` the name `new`."""
    shorthands = RULES[language].shorthands
    changes = []
    for node in places:
        short = node.type in shorthands or (node.parent is not None and node.parent.type in shorthands)
        text = f"{syntax.of(node)}: {new}" if short else new
        changes.append(Change(syntax.start(node), syntax.end(node), text))
    return changes


def is_fresh(syntax: Syntax, name: str) -> bool:
    """Whether nothing in the text has this name yet, strings and comments aside."""
    return all("comment" in node.type or "string" in node.type for node in _mentions(syntax, name))


def _mentions(syntax: Syntax, name: str) -> Iterator[Node]:
    """The smallest node at each place where `name` stands as a word."""
    for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", syntax.text):
        yield syntax.at(match.start(), match.end())


class _Finder:
    """The search for one symbol."""

    def __init__(self, syntax: Syntax, rules: Rules, symbol: Symbol) -> None:
        self._syntax = syntax
        self._rules = rules
        self._symbol = symbol
        self._name = symbol.name
        self._mentioned = list(_mentions(syntax, symbol.name))
        self._nodes = [node for node in self._mentioned if self._is_variable(node)]
        found = map(self._binding, self._nodes)
        self._bindings = [binding for binding in found if binding is not None]

    def find(self) -> list[Node]:
        """The occurrences, in order. Raises NotProvenError."""
        if self._symbol.node not in self._nodes:
            raise NotProvenError(f"it is a member or a type, and {_ELSEWHERE}")
        region = self._region()
        if region is None:
            raise NotProvenError("it is not declared in this file")
        if region.type in _MEMBER_SCOPES:
            raise NotProvenError(f"it is a member, and {_ELSEWHERE}")
        if region.parent is None:
            places = self._of_the_file(region)
        else:
            places = [node for node in self._nodes if _within(node, region)]
            if self._rules.hoisted:
                places = [node for node in places if self._scope_of(node) == region]
            else:
                self._check_order(region, places)
        self._check(region, places)
        return places

    # What a mention is.

    def _is_variable(self, node: Node) -> bool:
        rules, parent = self._rules, node.parent
        if node.type not in rules.names or parent is None:
            return False
        if (parent.type, field_of(node)) in rules.members:
            return False
        return parent.type != "token_tree" or not _after_dot(node)

    def _binding(self, node: Node) -> _Binding | None:
        """What `node` binds, if it does; found by climbing through what patterns are made of."""
        rules, inner = self._rules, node
        passed: list[Node] = []
        while (parent := inner.parent) is not None:
            passed.append(parent)
            field = field_of(inner)
            place = (parent.type, field)
            if place in rules.binds_outside:
                return _Binding(node, self._around(parent, rules.scopes), tuple(passed))
            if place in rules.binds:
                if parent.type in rules.assigns and not self._declares(parent):
                    return None
                hoists = any(each.type in rules.hoisting for each in (parent, parent.parent) if each)
                scopes = rules.functions if hoists else rules.scopes
                return _Binding(node, self._around(inner, scopes), tuple(passed))
            if field not in rules.patterns.get(parent.type, frozenset()):
                return None
            inner = parent
        return None

    def _declares(self, node: Node) -> bool:
        return any(self._syntax.of(child) in self._rules.declaring for child in node.children[:4])

    def _around(self, node: Node, scopes: frozenset[str]) -> Node:
        return next((each for each in ancestors(node) if each.type in scopes), self._syntax.root)

    # Where it is visible.

    def _region(self) -> Node | None:
        """The scope that the symbol belongs to: the innermost that binds it, or the outermost one."""
        scopes = [binding.scope for binding in self._bindings]
        around = [each for each in ancestors(self._symbol.node) if each in scopes]
        # A function's own name stands within the function, but belongs to what is around it.
        own = next((each for each in self._bindings if each.node == self._symbol.node), None)
        if own is not None and self._rules.hoisted:
            return own.scope
        if own is not None:
            around = [each for each in around if _within(own.scope, each)]
        if not around:
            return None
        if self._rules.hoisted:
            return around[0]
        # What a class or the file binds is another variable than what a function in it does.
        inner = list(takewhile(lambda each: each.parent and each.type not in _MEMBER_SCOPES, around))
        return inner[-1] if inner else around[0]

    def _scope_of(self, node: Node) -> Node | None:
        own = next((each for each in self._bindings if each.node == node), None)
        if own is not None:
            return own.scope
        scopes = [binding.scope for binding in self._bindings]
        return next((each for each in ancestors(node) if each in scopes), None)

    def _check_order(self, region: Node, places: list[Node]) -> None:
        """In languages that read from top to bottom: nothing before the declaration, nor in its own value."""
        first = min(
            (each for each in self._bindings if each.scope == region), key=lambda each: each.node.start_byte
        )
        if any(node.start_byte < first.node.start_byte for node in places):
            raise NotProvenError("it is used before it is declared")
        values = [
            value
            for node in first.passed
            for field in _INITIAL
            for value in node.children_by_field_name(field)
        ]
        if any(_within(node, value) and node != first.node for node in places for value in values):
            raise NotProvenError("its first value is another variable of that name")

    # What speaks against it.

    def _check(self, region: Node, places: list[Node]) -> None:
        for node in places:
            self._check_place(region, node)
        for binding in self._bindings:
            if binding.scope.type in _MEMBER_SCOPES and _within(binding.scope, region):
                raise NotProvenError("a class in its scope has a member of that name")
        text = self._syntax.of(region)
        if self._rules.traps and re.search(rf"\b(?:{'|'.join(self._rules.traps)})\s*\(", text):
            raise NotProvenError("code in its scope can reach variables by their names")
        for node in self._mentioned:
            formatted = node.type == "string_content" and re.search(
                rf"\{{{self._name}\s*[:}}]", self._syntax.of(node)
            )
            if node.type == "preproc_arg" or (
                formatted and self._rules is RULES["rust"] and _within(node, region)
            ):
                raise NotProvenError("a macro uses it")
        if self._rules is RULES["python"]:
            self._check_keywords()

    def _check_place(self, region: Node, node: Node) -> None:
        rules, parent = self._rules, node.parent
        if parent is None:
            return
        kinds = {parent.type, *(child.type for child in parent.children)}
        places = {(each.parent.type, field_of(each)) for each in (node, parent) if each.parent is not None}
        if kinds & rules.refused or places & rules.refused_places:
            raise NotProvenError("it is imported, exported, or the name of something else too")
        if parent.type == "token_tree" and _names_argument(node):
            raise NotProvenError("a macro uses it")
        if parent.type == "field_pattern" and node.type in rules.shorthands and parent.child_count > 1:
            raise NotProvenError("a pattern takes it from a field")
        for each in (node, *ancestors(node)):
            if each == region or each.parent is None:
                break
            outside = (each.parent.type, field_of(each)) in rules.outside
            if outside and self._around(each, rules.scopes) == region:
                raise NotProvenError("another variable of that name is used in its scope")

    def _check_keywords(self) -> None:
        """A parameter of a function that others may call belongs to its callers too."""
        for binding in self._bindings:
            function = binding.scope
            if function.type != "function_definition" or not _is_parameter(binding):
                continue
            if not _within(self._symbol.node, function):
                continue
            name = function.child_by_field_name("name")
            called = self._syntax.of(name) if name is not None else ""
            private = called.startswith("_") and not called.startswith("__")
            nested = any(each.type == "function_definition" for each in ancestors(function))
            if not (private or nested or _positional_only(binding) or self._name.startswith("_")):
                raise NotProvenError(_PYTHON_OPEN)
            if any(
                node.parent is not None and (node.parent.type, field_of(node)) == ("keyword_argument", "name")
                for node in self._mentioned
            ):
                raise NotProvenError(_PYTHON_OPEN)

    def _of_the_file(self, root: Node) -> list[Node]:
        """The occurrences of a name of the whole file, if the file alone can use it."""
        if any(binding.scope.parent is not None for binding in self._bindings):
            raise NotProvenError("a variable in this file has the same name")
        if not all(self._private(root, binding) for binding in self._bindings):
            raise NotProvenError(_ELSEWHERE)
        return self._nodes

    def _private(self, root: Node, binding: _Binding) -> bool:
        if self._rules is RULES["python"]:
            quoted = any(node.type == "string_content" for node in self._mentioned)
            return self._name.startswith("_") and not self._name.startswith("__") and not quoted
        if self._rules is RULES["javascript"]:
            module = any(child.type in {"import_statement", "export_statement"} for child in root.children)
            return module and not any(each.type == "export_statement" for each in ancestors(binding.node))
        if self._rules is RULES["c"]:
            last = binding.passed[-1]
            return any(
                child.type == "storage_class_specifier" and self._syntax.of(child) == "static"
                for child in last.children
            )
        return False


def _within(node: Node, region: Node) -> bool:
    return region.start_byte <= node.start_byte and node.end_byte <= region.end_byte


def _after_dot(node: Node) -> bool:
    """Whether a word of a Rust macro is a field, or part of a path."""
    before, behind = node.prev_sibling, node.next_sibling
    return (before is not None and before.type in {".", "::"}) or (behind is not None and behind.type == "::")


def _names_argument(node: Node) -> bool:
    behind = node.next_sibling
    return behind is not None and behind.type in {"=", ":"}


def _is_parameter(binding: _Binding) -> bool:
    return any(node.type == "parameters" for node in binding.passed) or (
        binding.passed[-1].parent is not None and binding.passed[-1].parent.type == "parameters"
    )


def _positional_only(binding: _Binding) -> bool:
    """Whether a parameter stands before the `/` of its list, or takes what is left over."""
    chain = [binding.node, *binding.passed]
    if any(node.type in {"list_splat_pattern", "dictionary_splat_pattern"} for node in chain):
        return True
    behind = next(
        (node for node in chain if node.parent is not None and node.parent.type == "parameters"), None
    )
    while behind is not None:
        behind = behind.next_sibling
        if behind is not None and behind.type == "positional_separator":
            return True
    return False
