"""Indentation written once more: the cursor's line holds it already."""

from __future__ import annotations

from velospec_lsp.completion.outline import indentation
from velospec_lsp.completion.site import Site

_OPENS_BLOCK = (":", "{", "(", "[", "=", "\\", ",", "->", "=>", "then", "do", ">")


def drop_repeated_indentation(text: str, site: Site) -> str:
    """`text` without leading blanks where the cursor stands behind indentation and nothing else.

    Where the line above opens a block, and the cursor stands no deeper than that line, more indentation is
    right and stays; of an indentation that counts from the start of the line, what goes beyond the cursor.
    """
    before = site.line_before
    stripped = text.lstrip(" \t")
    if not before or before.strip() or len(stripped) in (0, len(text)) or stripped[0] == "\n":
        return text
    above = site.above
    if indentation(before) > indentation(above) or not above.endswith(_OPENS_BLOCK):
        return stripped
    lead = text[: len(text) - len(stripped)]
    return text[len(before) :] if lead.startswith(before) and lead != before else text
