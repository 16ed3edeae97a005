"""Indentation written once more: the cursor's line holds it already."""

from __future__ import annotations

from velospec_lsp.completion.site import Site

_OPENS_BLOCK = (":", "{", "(", "[", "=", "\\", ",", "->", "=>", "then", "do", ">")


def drop_repeated_indentation(text: str, site: Site) -> str:
    """`text` without leading spaces where the cursor stands behind indentation and nothing else.

    Where the line above opens a block, and the cursor stands no deeper than that line, more indentation is
    right and stays.
    """
    if not site.line_before or site.line_before.strip() or text[:1] not in (" ", "\t"):
        return text
    above_indent = len(site.above) - len(site.above.lstrip())
    if len(site.line_before) <= above_indent and site.above.endswith(_OPENS_BLOCK):
        return text
    return text.lstrip(" \t")
