"""The function at the cursor: its name, its parameters, and whether it returns something.

Reads syntax trees; what a documentation comment looks like is the business of `documentation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from velospec_lsp.editing.source import Source
from velospec_lsp.syntax import Syntax, ancestors, walk

_SCRIPT = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "method_definition",
        "function_expression",
        "generator_function",
        "arrow_function",
    }
)
_FUNCTIONS: dict[str, frozenset[str]] = {
    "python": frozenset({"function_definition"}),
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": _SCRIPT | {"method_signature", "function_signature"},
    "typescriptreact": _SCRIPT | {"method_signature", "function_signature"},
    "go": frozenset({"function_declaration", "method_declaration"}),
    "rust": frozenset({"function_item", "function_signature_item"}),
    "java": frozenset({"method_declaration", "constructor_declaration"}),
    "c": frozenset({"function_definition"}),
    "cpp": frozenset({"function_definition"}),
}
_WRAPPERS = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "template_declaration",
        "variable_declarator",
        "lexical_declaration",
        "variable_declaration",
        "field_definition",
        "public_field_definition",
    }
)
"""What a function may be the content of, so that its documentation stands before that."""

_NAME_FIELDS = ("name", "property", "declarator", "pattern")
_SPLATS = {"list_splat_pattern": "*", "dictionary_splat_pattern": "**"}
_UNWRAPPED = frozenset(
    {
        "typed_parameter",
        "reference_declarator",
        "parenthesized_declarator",
        "rest_pattern",
        "spread_parameter",
        "variable_declarator",
        *_SPLATS,
    }
)
_RECEIVERS = frozenset({"self", "cls", "this", "_"})
_CLOSURES = frozenset(
    {"lambda", "arrow_function", "function_expression", "closure_expression", "lambda_expression"}
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`mark` is what stands before the name in Python: one star, two, or nothing."""

    name: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """`outer` is `node` with all that belongs to it: decorators, `export`, the variable it is assigned to."""

    node: Node
    outer: Node
    name: str
    parameters: tuple[Parameter, ...]
    returns: bool


def function_at(source: Source, syntax: Syntax, offset: int) -> Function | None:
    """The innermost function with a name that `offset` lies in, or on the documentation of."""
    kinds = _FUNCTIONS.get(source.document.language, frozenset())
    first = source.line_start(offset) + len(source.indentation(offset))
    for at in dict.fromkeys((max(offset, first), max(offset - 1, 0), first)):
        node = _below_documentation(syntax.at(at))
        for around in (node, *ancestors(node)):
            for candidate in (around, *_content(around)):
                if candidate.type in kinds and (function := _function(syntax, candidate)) is not None:
                    return function
    return None


def body_of(node: Node) -> Node | None:
    """The block of a function."""
    return node.child_by_field_name("body")


def _below_documentation(node: Node) -> Node:
    """The node itself, or for a comment what stands under it."""
    while "comment" in node.type or node.type == "attribute_item":
        below = node.next_named_sibling
        if below is None:
            break
        node = below
    return node


def _content(node: Node) -> Iterator[Node]:
    """The function that a wrapper is around."""
    inner = node
    while inner.type in _WRAPPERS:
        for field in ("definition", "declaration", "value"):
            if (child := inner.child_by_field_name(field)) is not None:
                break
        else:
            child = next((each for each in inner.named_children if each.type == "variable_declarator"), None)
            child = child or (inner.named_children[-1] if inner.named_children else None)
        if child is None:
            return
        inner = child
        yield inner


def _function(syntax: Syntax, node: Node) -> Function | None:
    outer = node
    for around in ancestors(node):
        if around.type not in _WRAPPERS:
            break
        outer = around
    name = _name(syntax, node)
    if not name:
        return None
    return Function(node, outer, name, tuple(_parameters(syntax, node)), _returns(syntax, node))


def _name(syntax: Syntax, node: Node) -> str:
    """The function's name, or that of the variable that it is assigned to; empty if it has none."""
    parent = node.parent
    owners = [node]
    if parent is not None and parent.type in _WRAPPERS:
        owners.append(parent)
    for owner in owners:
        named = _named(owner)
        if named is not None and named != node:
            text = re.split(r"::|\.", syntax.of(named))[-1]
            return text if re.fullmatch(r"[#~]?[\w$]+", text) else ""
    return ""


def _named(node: Node) -> Node | None:
    found: Node | None = None
    inner: Node | None = node
    while inner is not None:
        found = inner if inner is not node else None
        inner = next(
            (child for field in _NAME_FIELDS if (child := inner.child_by_field_name(field)) is not None), None
        )
        if inner is None and found is not None and found.type == "reference_declarator":
            inner = found.named_children[0] if found.named_children else None
        if found is not None and (found.type.endswith("identifier") or found.child_count == 0):
            return found
    return found


def _parameters(syntax: Syntax, node: Node) -> Iterator[Parameter]:
    holder: Node | None = node
    listed = None
    while holder is not None and listed is None:
        listed = holder.child_by_field_name("parameters")
        below = holder.child_by_field_name("declarator")
        holder = below or (holder.named_children[0] if holder.type == "reference_declarator" else None)
    single = node.child_by_field_name("parameter")
    for child in listed.named_children if listed is not None else [single] if single is not None else []:
        mark = next(
            (_SPLATS[inner.type] for inner in (child, *child.named_children) if inner.type in _SPLATS), ""
        )
        several = child.children_by_field_name("name")  # in Go, one type may follow several names
        for named in several if len(several) > 1 else [_parameter(child)]:
            if named is not None and (text := syntax.of(named)) not in _RECEIVERS:
                yield Parameter(text, mark)


def _parameter(node: Node) -> Node | None:
    """The identifier that a parameter is called by; None for one that is taken apart."""
    if node.type in {"identifier", "field_identifier"}:
        return node
    for field in _NAME_FIELDS:
        if (child := node.child_by_field_name(field)) is not None:
            return _parameter(child)
    if node.type in _UNWRAPPED and node.named_children:
        return _parameter(node.named_children[-1 if node.type == "spread_parameter" else 0])
    return None


def _returns(syntax: Syntax, node: Node) -> bool:
    """Whether there is something to say of the result, by the type where it is written, else by the body."""
    written = node.child_by_field_name("return_type") or node.child_by_field_name("type")
    if written is not None:
        return syntax.of(written).lstrip(": ").strip() not in {
            "void",
            "None",
            "()",
            "!",
            "never",
            "Promise<void>",
        }
    if node.type in {"constructor_declaration", "function_item", "function_signature_item"}:
        return False
    body = body_of(node)
    if body is None:
        return False
    if node.type == "arrow_function" and body.type != "statement_block":
        return True
    return any(_is_return_of_value(each) for each in _own(body))


def _is_return_of_value(node: Node) -> bool:
    return node.type == "return_statement" and any(
        "comment" not in child.type for child in node.named_children
    )


def _own(body: Node) -> Iterator[Node]:
    """The nodes of a body without those of the functions in it."""
    inner = frozenset().union(*_FUNCTIONS.values()) | _CLOSURES
    skipped_until = -1
    for node in walk(body):
        if node.start_byte < skipped_until:
            continue
        if node.type in inner and node != body:
            skipped_until = node.end_byte
            continue
        yield node
