"""Text that stands right of the cursor already, written once more at the end of the completion."""

from __future__ import annotations

from velospec_lsp.completion.outline import outline
from velospec_lsp.completion.site import Site
from velospec_lsp.completion.tail import closing, covers, is_inert

_SHORTEST = 3  # characters; a shorter overlap with real text is chance more often than repetition


def cut_tail_overlap(text: str, site: Site) -> str:
    """`text` without what the rest of the line holds.

    A text that writes an inert tail whole is left as it is: the offer replaces the tail. One that writes
    nothing else would change nothing. Before real text a completion has one line only.
    """
    tail = site.tail.rstrip()
    if not tail.strip():
        return text
    if covers(text, site.tail, site.facts):
        return "" if text.split() == tail.split() else text
    if is_inert(tail):
        closers = closing(text, tail, site.facts)
        return text[: closers[0]] if closers else text
    text = text.partition("\n")[0]
    for length in range(min(len(tail), len(text)), 0, -1):
        if text.endswith(tail[:length]) and (length >= _SHORTEST or length == len(tail)):
            return text[:-length]
    start = site.before.inside
    if outline(text, site.facts, start).opened:
        return text  # it closes a bracket and opens another one, which the tail closes
    unopened = "".join(bracket.closer for bracket in outline(tail, site.facts, start).closed)
    closers = closing(text, unopened, site.facts)
    return text[: closers[0]] if closers else text
