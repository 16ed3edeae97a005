"""The end of the block that the cursor is in: what a model writes beyond it was not asked for."""

from __future__ import annotations

import re
from functools import cache

from velospec_lsp.completion.languages import Blocks, Language
from velospec_lsp.completion.outline import indentation, outline
from velospec_lsp.completion.site import Site

_ENDS = re.compile(r"\s*(?:[)\]}]|(?:end|fi|done|esac|until)\b)")


def limit_scope(text: str, site: Site) -> str:
    """`text` up to the first line, after its first one, that leaves the cursor's block.

    A line indented less than the cursor's line leaves it; so does, once the text has gone deeper from a line
    that the user began, one at that line's own indentation. Lines that close or continue that line's block
    (`} else {`, `else:`, `end`) belong to it. One line that ends the block around it may follow where the
    document lacks that line. Lines within strings and comments count for nothing.

    Where the document goes on deeper than the cursor's line, the block is there already: what is to be
    written is its head.
    """
    facts = site.facts
    if facts.blocks is Blocks.NONE or "\n" not in text:
        return text
    lines = text.split("\n")
    base, begun, deeper = indentation(site.line_before + lines[0]), bool(site.line_before.strip()), False
    if lines[0].strip() and indentation(_below(site)) > base:
        return _head(lines, site)
    for number, line in enumerate(lines[1:], 1):
        indent = indentation(line)
        if not line.strip() or indent > base:
            deeper = deeper or bool(line.strip())
            continue
        stays = indent == base and not (begun and deeper and not _continues(facts).match(line))
        if stays or _is_apart("\n".join(lines[:number]), line, site):
            continue
        ends = indent < base and _ENDS.match(line) is not None and _is_missing(line, site)
        if ends and line.rstrip().endswith("{"):
            base, begun, deeper = indent, True, False
            continue
        return "\n".join(lines[: number + ends]).rstrip()
    return text


def _head(lines: list[str], site: Site) -> str:
    """The first of `lines`, and those on which it goes on because of a bracket or string."""
    for count in range(1, len(lines) + 1):
        text = "\n".join(lines[:count]) + "\n"
        found = outline(text, site.facts, site.before.inside)
        if all(bracket.closer == "}" for bracket in found.opened) and found.inside in (
            None,
            site.before.inside,
        ):
            return text[:-1]
    return "\n".join(lines)


@cache
def _continues(facts: Language) -> re.Pattern[str]:
    """Matches a line that closes or continues a block at the indentation of the block's first line."""
    words = "|".join(facts.closers.split()) or "(?!)"
    return re.compile(rf"\s*(?:[)\]}}{{]|(?:{words})\b)")


def _is_missing(line: str, site: Site) -> bool:
    """Whether the document goes on at the indentation of `line`, or less, with something else."""
    below = _below(site)
    return not below or (indentation(below) <= indentation(line) and below != line.rstrip())


def _below(site: Site) -> str:
    """The next line of the document that is not blank; empty if there is none."""
    return next((line.rstrip() for line in site.below if line.strip()), "")


def _is_apart(before: str, line: str, site: Site) -> bool:
    """Whether the indentation of `line` says nothing: in a string or comment, or a directive of C."""
    if line.startswith("#") and site.facts.characters:
        return True
    return outline(before + "\n", site.facts, site.before.inside).inside is not None
