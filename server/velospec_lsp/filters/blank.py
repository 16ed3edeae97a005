"""Blanks at the end of a completion, and completions of nothing else."""

from __future__ import annotations

from velospec_lsp.completion.site import Site


def trim_blank(text: str, site: Site) -> str:
    """`text` without blanks at its end; nothing if it is blank. Before real text one space may be meant."""
    trimmed = text.rstrip()
    if trimmed and site.tail.strip() and text.endswith(" ") and "\n" not in text[len(trimmed) :]:
        return trimmed + " "
    return trimmed
