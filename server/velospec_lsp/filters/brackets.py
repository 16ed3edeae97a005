"""Closing brackets that nothing has opened, or that the document closes already."""

from __future__ import annotations

from collections import Counter

from velospec_lsp.completion.outline import Bracket, Outline, indentation, outline, unclosed
from velospec_lsp.completion.site import BEHIND, Site
from velospec_lsp.completion.tail import covers


def cut_unopened(text: str, site: Site) -> str:
    """`text` up to the first bracket that closes nothing: neither of its own, nor one left open around it.

    Open are the brackets before the cursor that the text behind it does not close. One that closes a bracket
    and opens another of its kind, which the text behind closes, is right.
    """
    if site.facts.prose:
        return text
    found = outline_of(text, site)
    ends = [] if found.crossed is None else [found.crossed]
    if found.closed:
        spare = Counter(
            bracket.closer for bracket in unclosed(site.before.opened, behind(text, found, site).closed)
        )
        spare.update(bracket.closer for bracket in found.opened)
        for bracket in found.closed:
            if not spare[bracket.closer] and not _may_close_far_above(bracket, site):
                ends.append(bracket.at)
                break
            spare[bracket.closer] -= 1
    return text[: min(ends)].rstrip(" \t\n") if ends else text


def outline_of(text: str, site: Site) -> Outline:
    """The outline of `text` at the cursor."""
    indent = indentation(site.line_before + text.partition("\n")[0])
    return outline(text, site.facts, site.before.inside, indent=indent)


def behind(text: str, found: Outline, site: Site) -> Outline:
    """The outline of what follows `text`, whose outline is `found`: the suffix, but for a replaced tail."""
    skipped = len(site.tail) if covers(text, site.tail, site.facts) else 0
    if not skipped and found.inside is site.before.inside:
        return site.behind
    return outline(site.suffix[skipped : skipped + BEHIND], site.facts, found.inside)


def _may_close_far_above(bracket: Bracket, site: Site) -> bool:
    """Whether it may close what was opened above the window: it begins a line, and nothing is open since."""
    return bracket.indent is not None and not site.before.opened and not site.from_start
