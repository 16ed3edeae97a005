"""The passage that an edit is about: what of the document it takes, and how new code goes into its place.

The model sees the passage without its common indentation. What it writes gets that indentation again, in the
document's own kind of it, since models rarely keep count of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from velospec_lsp.editing.source import Change, Source
from velospec_lsp.syntax import Syntax, ancestors

_FENCED = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_LEADING = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """The characters from `start` to before `end`.

    `whole_lines` tells that it begins and ends with lines, so that its indentation may be dealt with; `code`
    is then without it. A passage on a blank line is empty: there, code is inserted.
    """

    start: int
    end: int
    code: str
    indent: str
    whole_lines: bool


def passage_of(source: Source, syntax: Syntax | None, start: int, end: int) -> Passage:
    """The passage that a selection stands for; where it is empty, the statement that begins on that line."""
    text = source.text
    if start == end:
        start, end = _statement(source, syntax, start)
    first = source.line_start(start)
    # A selection of whole lines ends where the next line begins; that line is not part of it.
    if end > start and text[end - 1 : end] == "\n":
        end -= 1
    if text[first:start].strip() or text[end : source.line_end(end)].strip():
        return Passage(start, end, text[start:end], source.indentation(start), whole_lines=False)
    end = source.line_end(end)
    lines = text[first:end].split("\n")
    indent = _common_indentation(lines)
    code = "\n".join(line.removeprefix(indent) if line.strip() else "" for line in lines)
    return Passage(first, end, code, indent, whole_lines=True)


def replace_passage(source: Source, passage: Passage, code: str) -> Change:
    """The change that puts `code` in the passage's place."""
    lines = _without_fence(code).split("\n")
    if passage.whole_lines:
        while len(lines) > 1 and not lines[-1].strip():
            lines.pop()
        while len(lines) > 1 and not lines[0].strip():
            lines.pop(0)
        surplus = _common_indentation(lines)
        lines = [line.removeprefix(surplus) for line in lines]
    lines = _in_units_of(source.indent_unit, lines)
    head = passage.indent if passage.whole_lines else ""
    indented = [
        (head if number == 0 else passage.indent) + line if line.strip() else ""
        for number, line in enumerate(lines)
    ]
    if not passage.whole_lines and len(lines) > 1 and not indented[-1]:
        indented.pop()
    return Change(passage.start, passage.end, "\n".join(indented))


def _statement(source: Source, syntax: Syntax | None, offset: int) -> tuple[int, int]:
    """The largest node that begins the cursor's line and ends a line; else the line, not its indentation."""
    line, line_end = source.line_start(offset), source.line_end(offset)
    first = line + len(source.indentation(offset))
    if first == line_end:
        return line, line_end
    if syntax is not None:
        begin = syntax.at(first)
        for node in reversed([begin, *ancestors(begin)]):
            end = syntax.end(node)
            whole = not source.text[end : source.line_end(end)].strip(" \t;,")
            if syntax.start(node) == first and whole and node.parent is not None and not _holds_all(node):
                return first, len(source.text[:end].rstrip())
    return first, line_end


def _holds_all(node: object) -> bool:
    """Whether `node` is a list of statements, which begins with its first one."""
    return getattr(node, "type", "") in {"block", "statement_list", "statement_block", "declaration_list"}


def _common_indentation(lines: list[str]) -> str:
    """What all lines with content begin with, of blanks and tabs."""
    heads = [_head(line) for line in lines if line.strip()]
    if not heads:
        return _head(lines[0]) if lines else ""
    shortest = min(heads, key=len)
    while not all(head.startswith(shortest) for head in heads):
        shortest = shortest[:-1]
    return shortest


def _head(line: str) -> str:
    match = _LEADING.match(line)
    return match[0] if match else ""


def _in_units_of(unit: str, lines: list[str]) -> list[str]:
    """`lines` with indentation by blanks made tabs where the document has tabs, and the other way round."""
    heads = [_head(line) for line in lines]
    if unit == "\t":
        widths = [len(head) for head in heads if head and "\t" not in head]
        step = min((width for width in widths if width > 1), default=0)
        if not step:
            return lines
        return [
            "\t" * (len(head) // step) + " " * (len(head) % step) + line[len(head) :]
            if "\t" not in head
            else line
            for head, line in zip(heads, lines, strict=True)
        ]
    return [head.replace("\t", unit) + line[len(head) :] for head, line in zip(heads, lines, strict=True)]


def _without_fence(code: str) -> str:
    """`code` without the Markdown fence that models like to put around it."""
    match = _FENCED.match(code)
    return match[1] if match else code
