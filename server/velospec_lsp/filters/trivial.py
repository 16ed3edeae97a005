"""Completions that add nothing: an empty comment, a lone operator or quote."""

from __future__ import annotations

import re

from velospec_lsp.completion.site import Site

# Not `...`, `*`, `?`, `++`, `(`: each of these may well be all that is missing.
_LONE = re.compile(r"[=+\-/%&|<^@~#.]{1,2}|[\"'`]")
_WHOLE = frozenset(("++", "--"))


def drop_trivial(text: str, site: Site) -> str:
    """`text` without comment lines at its end that say nothing; nothing if a sign that wants more is all.

    What closes something stays: brackets, quotes, `;`, `,`, `:`. In brackets, which go
    on over lines, and in strings and comments any sign may.
    """
    if site.facts.prose:
        return text
    marks = {span.opener for span in site.facts.comments}
    marks |= {mark + mark[-1] for mark in marks}
    lines = text.split("\n")
    count = len(lines)
    while count > 1 and (not lines[count - 1].strip() or lines[count - 1].strip() in marks):
        count -= 1
    content = lines[0].strip() if count == 1 else ""
    inside = site.before.inside
    lone = inside is None and not site.before.opened and _LONE.fullmatch(content) is not None
    if content in marks or (lone and content not in _WHOLE):
        return ""
    return text if count == len(lines) else "\n".join(lines[:count])
