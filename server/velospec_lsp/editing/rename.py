"""Renaming one variable: where it stands, proven by the tables of `bindings`, or why that is not certain.

One document is all that is looked at, so a name that other files can use is not renamed. In languages where a
name is visible from its declaration on, all variables of that name within the outermost scope that binds it
are renamed together, which keeps the meaning whatever shadows what.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from velospec_lsp.editing.bindings import RULES, Rules
from velospec_lsp.editing.source import Change, Source
from velospec_lsp.editing.variables import MEMBER_SCOPES, Binding, Variables, mentions, within
from velospec_lsp.syntax import Syntax, ancestors, field_of

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
    return all("comment" in node.type or "string" in node.type for node in mentions(syntax, name))


class _Finder:
    """The search for one symbol, and what speaks against its end."""

    def __init__(self, syntax: Syntax, rules: Rules, symbol: Symbol) -> None:
        self._syntax = syntax
        self._rules = rules
        self._symbol = symbol
        self._name = symbol.name
        self._found = Variables(syntax, rules, symbol.name)

    def find(self) -> list[Node]:
        """The occurrences, in order. Raises NotProvenError."""
        if self._symbol.node not in self._found.nodes:
            raise NotProvenError(f"it is a member or a type, and {_ELSEWHERE}")
        region = self._found.region(self._symbol.node)
        if region is None:
            raise NotProvenError("it is not declared in this file")
        if region.type in MEMBER_SCOPES:
            raise NotProvenError(f"it is a member, and {_ELSEWHERE}")
        if region.parent is None:
            places = self._of_the_file(region)
        else:
            places = [node for node in self._found.nodes if within(node, region)]
            if self._rules.hoisted:
                places = [node for node in places if self._found.region(node) == region]
            else:
                self._check_order(region, places)
        self._check(region, places)
        return places

    def _check_order(self, region: Node, places: list[Node]) -> None:
        """In languages that read from top to bottom: nothing before the declaration, nor in its own value."""
        first = min(
            (each for each in self._found.bindings if each.scope == region),
            key=lambda each: each.node.start_byte,
        )
        if any(node.start_byte < first.node.start_byte for node in places):
            raise NotProvenError("it is used before it is declared")
        values = [
            value
            for node in first.passed
            for field in _INITIAL
            for value in node.children_by_field_name(field)
        ]
        if any(within(node, value) and node != first.node for node in places for value in values):
            raise NotProvenError("its first value is another variable of that name")

    def _check(self, region: Node, places: list[Node]) -> None:
        for node in places:
            self._check_place(region, node)
        for binding in self._found.bindings:
            if binding.scope.type in MEMBER_SCOPES and within(binding.scope, region):
                raise NotProvenError("a class in its scope has a member of that name")
        text = self._syntax.of(region)
        if self._rules.traps and re.search(rf"\b(?:{'|'.join(self._rules.traps)})\s*\(", text):
            raise NotProvenError("code in its scope can reach variables by their names")
        for node in self._found.mentioned:
            formatted = node.type == "string_content" and re.search(
                rf"\{{{self._name}\s*[:}}]", self._syntax.of(node)
            )
            if node.type == "preproc_arg" or (
                formatted and self._rules is RULES["rust"] and within(node, region)
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
            if outside and self._found.around(each) == region:
                raise NotProvenError("another variable of that name is used in its scope")

    def _check_keywords(self) -> None:
        """A parameter of a function that others may call belongs to its callers too."""
        for binding in self._found.bindings:
            function = binding.scope
            if function.type != "function_definition" or not _is_parameter(binding):
                continue
            if not within(self._symbol.node, function):
                continue
            name = function.child_by_field_name("name")
            called = self._syntax.of(name) if name is not None else ""
            private = called.startswith("_") and not called.startswith("__")
            nested = any(each.type == "function_definition" for each in ancestors(function))
            if not (private or nested or _positional_only(binding) or self._name.startswith("_")):
                raise NotProvenError(_PYTHON_OPEN)
            if any(
                node.parent is not None and (node.parent.type, field_of(node)) == ("keyword_argument", "name")
                for node in self._found.mentioned
            ):
                raise NotProvenError(_PYTHON_OPEN)

    def _of_the_file(self, root: Node) -> list[Node]:
        """The occurrences of a name of the whole file, if the file alone can use it."""
        if any(binding.scope.parent is not None for binding in self._found.bindings):
            raise NotProvenError("a variable in this file has the same name")
        if not all(self._private(root, binding) for binding in self._found.bindings):
            raise NotProvenError(_ELSEWHERE)
        return self._found.nodes

    def _private(self, root: Node, binding: Binding) -> bool:
        if self._rules is RULES["python"]:
            quoted = any(node.type == "string_content" for node in self._found.mentioned)
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


def _names_argument(node: Node) -> bool:
    behind = node.next_sibling
    return behind is not None and behind.type in {"=", ":"}


def _is_parameter(binding: Binding) -> bool:
    return any(node.type == "parameters" for node in binding.passed) or (
        binding.passed[-1].parent is not None and binding.passed[-1].parent.type == "parameters"
    )


def _positional_only(binding: Binding) -> bool:
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
