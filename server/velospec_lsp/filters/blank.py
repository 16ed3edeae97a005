"""Blanks at the end of a completion, and completions of nothing else."""

from __future__ import annotations

from velospec_lsp.completion.site import Site


def trim_blank(text: str, site: Site) -> str:
    """`text` without blanks at its end; nothing if it is blank. Before real text one space may be meant."""
    trimmed = text.rstrip()
    blanks = text[len(trimmed) :]
    if trimmed and site.tail.strip() and blanks.startswith(" ") and "\n" not in blanks:
        return trimmed + " "
    return trimmed
