"""Text that stands right of the cursor already, written once more at the end of the completion."""

from __future__ import annotations

from velospec_lsp.completion.site import Site
from velospec_lsp.completion.tail import closing, covers, is_inert, unopened

_SHORTEST = 3  # characters; a shorter overlap with real text is chance more often than repetition


def cut_tail_overlap(text: str, site: Site) -> str:
    """`text` without what the rest of the line holds.

    A text that writes an inert tail whole is left as it is: the offer replaces the tail. One that writes
    nothing else would change nothing. Before real text a completion has one line only.
    """
    tail = site.tail.rstrip()
    if not tail.strip():
        return text
    if covers(text, site.tail):
        return "" if text.split() == tail.split() else text
    if not is_inert(tail):
        text = text.partition("\n")[0]
        for length in range(min(len(tail), len(text)), 0, -1):
            if text.endswith(tail[:length]) and (length >= _SHORTEST or length == len(tail)):
                return text[:-length]
    closers = closing(text, tail if is_inert(tail) else unopened(tail))
    return text[: closers[0]] if closers else text
