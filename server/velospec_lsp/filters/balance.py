"""Brackets and quotes that a completion of one line opens and nothing closes."""

from __future__ import annotations

import re

from velospec_lsp.completion.outline import Outline, unclosed
from velospec_lsp.completion.site import Site
from velospec_lsp.completion.tail import covers
from velospec_lsp.filters.brackets import behind, outline_of
from velospec_lsp.filters.unfinished import trim_dangling

_QUOTES = "\"'`"
_STRING_MARK = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{1,2}\Z")


def cut_unclosed(text: str, site: Site) -> str:
    """A `text` of one line, up to the first bracket or quote that stays open in it and behind it.

    At the end of a line, one that ends with an opening brace begins a block and stays; another bracket there
    is only what is left of a text of several lines. Texts of several lines stay: the user has them in view.
    """
    if site.facts.prose or "\n" in text.rstrip():
        return text
    tail_goes = not site.tail.strip() or covers(text, site.tail, site.facts)
    if tail_goes and _begins_block(text) and outline_of(text, site).inside is None:
        return text
    kept = text
    while True:
        found = outline_of(kept, site)
        end = _first_unclosed(kept, found, site)
        if end is None:
            return kept
        stem = kept[:end]
        kept = trim_dangling(_STRING_MARK.sub("", stem) if kept[end] in _QUOTES else stem)


def _begins_block(text: str) -> bool:
    return text.rstrip()[-1:] == "{"


def _first_unclosed(text: str, found: Outline, site: Site) -> int | None:
    """Where in `text` the first bracket or quote stands that is not closed; None if there is none."""
    follows = behind(text, found, site)
    inside = found.inside
    begun_here = found.ended or site.before.inside is None
    if inside is not None and inside.close and begun_here and not follows.ended:
        return found.inside_at
    opened = len(found.opened)
    if not opened:
        return None
    own = site.before.opened[: len(site.before.opened) - len(found.closed)]
    before = len(unclosed(own, follows.closed))
    after = len(unclosed((*own, *found.opened), follows.closed))
    surplus = min(after - before, opened)
    return found.opened[opened - surplus].at if surplus > 0 else None
