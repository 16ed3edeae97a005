"""A space written once more: many tokens begin with one, and the user has typed it already."""

from __future__ import annotations

from velospec_lsp.completion.site import Site


def drop_doubled_space(text: str, site: Site) -> str:
    """`text` without its first character where that is a lone space behind another one.

    Not at the start of a line (that is the indentation's filter), nor before a comment, which some styles set
    two spaces off, nor in a string or comment.
    """
    before = site.line_before
    if not before.strip() or before[-1] not in " \t" or text[:1] != " " or text[1:2].isspace():
        return text
    if site.before.inside is not None or text.startswith(tuple(" " + c.opener for c in site.facts.comments)):
        return text
    return text[1:]
