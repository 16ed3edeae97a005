"""Documentation of functions in each language's own form: where it stands, and how its text is written there.

The text comes from a model and may hold anything; what is written here never ends the comment early.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from velospec_lsp.editing.functions import Function, Parameter, body_of
from velospec_lsp.editing.source import Change, Source
from velospec_lsp.syntax import Syntax

_WIDTH, _LEAST_WIDTH = 88, 40  # columns of a line with its indentation; of the text alone at the least
_ENDS = frozenset(".!?:;\u2026\u3002\uff01\uff1f")  # of a sentence; an ellipsis and wide marks among them
_BIDIRECTIONAL = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # they reorder what is seen
_GO_DIRECTIVE = re.compile(r"//[a-z]+:")
_RUST_ABOVE = re.compile(r"#\[")


@dataclass(frozen=True, slots=True)
class Documentation:
    """What is said of a function: one sentence, a line for each parameter by name, a line on the result."""

    summary: str
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""


def documented_parameters(function: Function, language: str) -> tuple[Parameter, ...]:
    """The parameters that the documentation has lines for: none in Go, which tells all in prose."""
    return () if language == "go" else function.parameters


def document_function(
    source: Source, syntax: Syntax, function: Function, said: Documentation
) -> Change | None:
    """The change that gives `function` this documentation in the place of what it has.

    None where the language has no form of documentation that is known here, or where the function does not
    begin on a line of its own.
    """
    language = source.document.language
    if language == "python":
        return _docstring(source, syntax, function, said)
    write = _WRITERS.get(language)
    if write is None:
        return None
    return _above(
        source, syntax, function, write(said, function, _columns(source, syntax.start(function.outer)))
    )


def plain(text: str) -> str:
    """`text` as one line without control characters; a sentence without its full stop gets one."""
    line = " ".join(text.split())
    line = "".join(c for c in line if unicodedata.category(c) != "Cc" and c not in _BIDIRECTIONAL)
    return line if not line or line[-1] in _ENDS else line + "."


def _columns(source: Source, offset: int) -> int:
    return max(_LEAST_WIDTH, _WIDTH - len(source.indentation(offset).expandtabs(4)))


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    lines = textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]


# Python.


def _docstring(source: Source, syntax: Syntax, function: Function, said: Documentation) -> Change | None:
    body = body_of(function.node)
    first = next((child for child in body.named_children if child.type != "comment"), None) if body else None
    if body is None or first is None:
        return None
    head = syntax.start(body)
    alone = not source.text[source.line_start(head) : head].strip()
    indent = (
        source.indentation(head)
        if alone
        else source.indentation(syntax.start(function.node)) + source.indent_unit
    )
    text = _docstring_text(said, function, indent, source.indent_unit)
    if (old := _old_docstring(first)) is not None:
        return Change(syntax.start(old), syntax.end(old), text)
    if not alone:  # `def f(): return 1`
        gap = len(source.text[:head].rstrip())
        return Change(gap, head, f"\n{indent}{text}\n{indent}")
    at = source.line_end(syntax.end(_colon(function.node, body)))
    return Change(at, at, f"\n{indent}{text}")


def _colon(function: Node, body: Node) -> Node:
    """The colon before the body."""
    before = [child for child in function.children if child.type == ":" and child.end_byte <= body.start_byte]
    return before[-1]


def _old_docstring(statement: Node) -> Node | None:
    if statement.type == "expression_statement" and statement.named_child_count == 1:
        value = statement.named_children[0]
        if value.type in {"string", "concatenated_string"}:
            return value
    return None


def _docstring_text(said: Documentation, function: Function, indent: str, unit: str) -> str:
    """The docstring in Google's style, its first line not indented."""
    width = max(_LEAST_WIDTH, _WIDTH - len(indent.expandtabs(4)) - 6)
    summary = _wrap(_quoted(said.summary), width)
    sections = []
    listed = [(each.mark + each.name, said.parameters.get(each.name, "")) for each in function.parameters]
    lines = [line for name, text in listed if text for line in _wrap(f"{name}: {_quoted(text)}", width, unit)]
    if lines:
        sections.append(["Args:", *(unit + line for line in lines)])
    if said.returns:
        sections.append(["Returns:", *(unit + line for line in _wrap(_quoted(said.returns), width))])
    if not sections and len(summary) == 1:
        return f'"""{summary[0]}"""'
    lines = [*summary]
    for section in sections:
        lines += ["", *section]
    rest = "".join(f"\n{indent}{line}" if line else "\n" for line in lines[1:])
    return f'"""{lines[0]}{rest}\n{indent}"""'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


# Comments above the function.

Writer = Callable[[Documentation, Function, int], list[str]]


def _block(parameter: str, result: str) -> Writer:
    """Javadoc and what took after it."""

    def write(said: Documentation, function: Function, width: int) -> list[str]:
        width -= 3
        lines = _wrap(_uncommented(said.summary), width)
        tags = []
        for each in function.parameters:
            if text := said.parameters.get(each.name):
                tags += _wrap(parameter.format(name=each.name, text=_uncommented(text)), width, "  ")
        if said.returns:
            tags += _wrap(f"{result} {_uncommented(said.returns)}", width, "  ")
        if not tags and len(lines) == 1:
            return [f"/** {lines[0]} */"]
        return ["/**", *(f" * {line}".rstrip() for line in [*lines, *([""] if tags else []), *tags]), " */"]

    return write


def _uncommented(text: str) -> str:
    # Java reads \\u even in comments.
    return text.replace("*/", "* /").replace("\\u", "\\ u")


def _rust(said: Documentation, function: Function, width: int) -> list[str]:
    lines = _wrap(said.summary, width - 4)
    items = [
        line
        for each in function.parameters
        if (text := said.parameters.get(each.name))
        for line in _wrap(f"* `{each.name}` - {text}", width - 4, "  ")
    ]
    if items:
        lines += ["", "# Arguments", "", *items]
    if said.returns:
        lines += ["", "# Returns", "", *_wrap(said.returns, width - 4)]
    return [f"/// {line}".rstrip() for line in lines]


def _go(said: Documentation, function: Function, width: int) -> list[str]:
    """Prose that begins with the function's name, as Go has it."""
    text = said.summary
    if not re.match(rf"{re.escape(function.name)}\b", text):
        text = f"{function.name} {text[:1].lower()}{text[1:]}"
    if said.returns:
        text += f" {said.returns}"
    return [f"// {line}" for line in _wrap(text, width - 3)]


_JAVADOC = _block("@param {name} {text}", "@return")
_JSDOC = _block("@param {name} - {text}", "@returns")
_WRITERS: dict[str, Writer] = {
    "javascript": _JSDOC,
    "javascriptreact": _JSDOC,
    "typescript": _JSDOC,
    "typescriptreact": _JSDOC,
    "java": _JAVADOC,
    "c": _JAVADOC,
    "cpp": _JAVADOC,
    "rust": _rust,
    "go": _go,
}


def _above(source: Source, syntax: Syntax, function: Function, lines: Sequence[str]) -> Change | None:
    """Put comment `lines` on the lines above the function, in the place of the documentation there."""
    begin = syntax.start(function.outer)
    line = source.line_start(begin)
    if source.text[line:begin].strip():
        return None
    bottom = _top_of(source, line, _RUST_ABOVE if source.document.language == "rust" else _GO_DIRECTIVE)
    top = _old_comment(source, syntax, bottom)
    indent = source.indentation(begin)
    return Change(top, bottom, "".join(f"{indent}{each}\n" for each in lines))


def _top_of(source: Source, line: int, kind: re.Pattern[str]) -> int:
    """Where the lines of attributes or directives directly above the line that begins at `line` begin."""
    while line > 0:
        above = source.line_start(line - 1)
        if not kind.match(source.text[above:line].strip()):
            break
        line = above
    return line


def _old_comment(source: Source, syntax: Syntax, bottom: int) -> int:
    """Where the documentation that ends right above `bottom` begins; `bottom` where there is none."""
    language = source.document.language
    top = bottom
    if language in {"rust", "go"}:
        mark = re.compile(r"///(?!/)" if language == "rust" else r"//(?![a-z]+:)")
        return _top_of(source, bottom, mark)
    if bottom == 0 or not source.text[:bottom].rstrip(" \t\n").endswith("*/"):
        return bottom
    last = source.line_start(bottom - 1)
    if not source.text[last:bottom].strip().endswith("*/"):
        return bottom
    node = syntax.at(source.line_end(last) - 1 - _trailing(source, last))
    begin = syntax.start(node)
    if "comment" in node.type and syntax.of(node).startswith("/**"):
        top = source.line_start(begin)
        if source.text[top:begin].strip():
            return bottom
    return top


def _trailing(source: Source, line: int) -> int:
    text = source.text[line : source.line_end(line)]
    return len(text) - len(text.rstrip())
