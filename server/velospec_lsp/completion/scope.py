"""Whether a place lies in a comment, a string or in code: by the syntax tree where it can tell, or by signs.

A tree of unfinished text is often wrong about strings that are still open. Where it has errors and knows of
no comment or string, the lexical outline is asked.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from velospec_lsp.completion.site import Query, Site
from velospec_lsp.syntax import ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

    from velospec_lsp.syntax_trees import View

_STRINGS = frozenset({
    "string", "template_string", "interpreted_string_literal", "raw_string_literal", "string_literal",
    "char_literal", "character_literal", "rune_literal", "raw_string", "string_value", "heredoc_body",
    "quoted_attribute_value", "system_lib_string", "multiline_string_literal", "regex",
})  # fmt: skip
_CODE = frozenset({
    "interpolation", "template_substitution", "expansion", "simple_expansion", "command_substitution",
    "string_interpolation",
})  # fmt: skip


class Scope(StrEnum):
    """What a place lies in; the values are those of the setting `disabledScopes`."""

    CODE = "code"
    COMMENT = "comment"
    STRING = "string"


def scope_of(query: Query, site: Site, view: View | None) -> Scope:
    """What the cursor of `query` lies in. `view` is the document's tree, if there is one."""
    if view is not None and query.selection is None:
        cursor = view.syntax.byte_at(query.cursor.line - view.first, query.cursor.index)
        nearest = view.beside(query.cursor)
        found = next(filter(None, (_scope(node, cursor) for node in (nearest, *ancestors(nearest)))), None)
        if found is not None or not view.syntax.root.has_error:
            return found or Scope.CODE
    inside = site.before.inside
    if inside is None:
        return Scope.CODE
    return Scope.COMMENT if inside in site.facts.comments else Scope.STRING


def _scope(node: Node, cursor: int) -> Scope | None:
    """The scope of what `node` holds at byte `cursor`; None if its parent decides."""
    within = node.start_byte < cursor < node.end_byte
    if "comment" in node.type and (within or (cursor == node.end_byte and _to_line_end(node))):
        return Scope.COMMENT
    if node.type in _CODE and within:
        return Scope.CODE
    return Scope.STRING if node.type in _STRINGS and within else None


def _to_line_end(comment: Node) -> bool:
    """Whether `comment` ends with its line, so that the place behind it belongs to it."""
    return not (comment.text or b"").startswith((b"/*", b"<!--"))
