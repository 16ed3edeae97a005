"""How much is to be written at a place: one line, or a block.

A block where one begins: behind an opener whose block is empty, in a header that is still being written, on a
blank line that no line of the same block follows. Elsewhere the rest of the line: of a statement, of a list,
of a comment or string, of an import. In languages of which nothing is known, only the text behind the cursor
counts. What the lines and brackets of unfinished code are, their signs tell better than a tree does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from velospec_lsp.completion.languages import Blocks, language_of
from velospec_lsp.completion.outline import indentation, outline
from velospec_lsp.completion.scope import Scope
from velospec_lsp.completion.site import Site
from velospec_lsp.completion.tail import is_inert
from velospec_lsp.settings import Settings

_UNKNOWN = language_of("")
_GUIDED = frozenset({"json", "jsonc"})  # a grammar ends these where they are whole
_IMPORT = re.compile(r"\s*(?:import|from|#\s*include|use|using|package|require|export\s*\*)\b")
_INDENTED = re.compile(
    r"\s*(?:async\s+)?(?:def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b"
)
_HEADER = re.compile(
    r"\s*(?:\}\s*)?(?:(?:export|default|public|private|protected|static|final|abstract|pub(?:\([a-z]+\))?|async"
    r"|unsafe|inline)\s+)*(?:function|func|fn|def|class|interface|enum|struct|union|trait|impl|mod|if|else|elif"
    r"|for|foreach|while|until|unless|switch|match|select|try|catch|finally|do|loop|module|begin|case)\b"
)
_OPENS = re.compile(r"(?:\{|=>|->|\b(?:then|do|else|begin))\s*\Z")
_LITERAL = re.compile(r"(?:[=(\[,:?]|\breturn|\bdefault)\s*\{\Z")
_GO_LITERAL = re.compile(r"[\w\]]\{\Z")  # blocks have a blank before their brace
_ABOVE = 4096  # characters in which the line of an open brace is looked for


@dataclass(frozen=True, slots=True)
class Extent:
    """At most `lines` lines; within the cursor's block where `in_block`. `why` is a word for the trace."""

    lines: int = 1
    in_block: bool = False
    why: str = ""


def extent_of(site: Site, settings: Settings, scope: Scope = Scope.CODE) -> Extent:
    """One line, or up to the line limit within the cursor's block; `scope` is what the place lies in."""
    if not settings.several_lines(site.language):
        return Extent(why="one line: the setting velospec.multiline")
    reason = _one_line(site, scope)
    if reason:
        return Extent(why=f"one line: {reason}")
    return Extent(settings.max_lines, in_block=True, why="a block")


def _one_line(site: Site, scope: Scope) -> str:
    """Why no more than the line is to be written; empty where a block is."""
    if not is_inert(site.tail):
        return "text follows the cursor"
    if site.facts.prose or site.facts == _UNKNOWN or site.language in _GUIDED:
        return ""
    return f"in a {scope.value}" if scope is not Scope.CODE else _in_code(site)


def _in_code(site: Site) -> str:
    line, tail = site.line_before.rstrip(), site.tail.strip()
    if _IMPORT.match(line):
        return "in an import"
    if tail and not (line.endswith("{") and tail.startswith("}")):
        return "closers follow the cursor"
    begins = _begins_block(site, line)
    if _in_list(site, line) and not (begins and outline(line, site.facts).opened):
        return "in a list"
    below = next((below for below in site.below if below.strip()), "")
    if not line:
        goes_on = site.below[0].strip() and indentation(below) >= indentation(site.line_before)
        return "the block goes on below" if goes_on else ""
    if not begins:
        return "a statement"
    has_body = below and not tail and indentation(below) > indentation(line)
    return "the block is not empty" if has_body else ""


def _in_list(site: Site, line: str) -> bool:
    """Whether the cursor is within brackets that hold no statements, and not right behind a brace."""
    if not site.before.opened:
        return False
    innermost = site.before.opened[-1]
    if innermost.closer != "}":
        return True
    if line.endswith("{"):
        return False  # what the braces hold, be it a list, is what there is to write
    if site.facts.blocks is Blocks.INDENT:
        return True
    return _is_literal(site, innermost.indent)


def _is_literal(site: Site, indent: int | None) -> bool:
    """Whether the open brace, the one on the nearest line with that indentation, holds no statements."""
    lines = site.prefix[-_ABOVE:].split("\n")
    opening = (line for line in reversed(lines) if "{" in line and indentation(line) == indent)
    head = next(opening, "").rpartition("{")[0] + "{"
    return (_GO_LITERAL if site.language == "go" else _LITERAL).search(head) is not None


def _begins_block(site: Site, line: str) -> bool:
    """Whether `line`, which ends at the cursor, opens a block or is the start of a header that will."""
    if site.facts.blocks is Blocks.INDENT:
        return _INDENTED.match(line) is not None
    if line.endswith((";", "}")):
        return False
    return _OPENS.search(line) is not None or _HEADER.match(line) is not None
