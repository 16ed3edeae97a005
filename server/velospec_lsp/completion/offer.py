"""What a completion comes to: an offer to show, or silence with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from velospec_lsp.completion.site import Query, Site
from velospec_lsp.completion.tail import covers
from velospec_lsp.text import Place


@dataclass(frozen=True, slots=True)
class Offer:
    """`text` (LF line ends) in place of `start`..`end`, both on the cursor's line and around the cursor."""

    id: str
    text: str
    start: Place
    end: Place


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing to show; `reason` is one sentence for the user who asks why."""

    reason: str


Outcome = tuple[Offer, ...] | Silence
"""What a completion comes to: one offer or more, the best first, or silence."""


def make_offer(
    identity: str, typed: str, text: str, query: Query, site: Site, *, fitted: bool = False
) -> Offer:
    """The offer that adds `text` at the cursor, `typed` being what the user has typed of it already.

    A text that is `fitted` to what stands behind the cursor replaces nothing of it.

    Where the rest of the line is empty or replaced, the offer begins where it was first made: with the same
    start and the same text an editor sees that it is the same one. Where text follows that stays, the range
    is empty, since some editors paint what lies in the range over it.
    """
    cursor = query.cursor
    if query.selection is not None:
        selection = query.selection
        return Offer(identity, selection.text + text, selection.start, max(cursor, selection.end))
    over_tail = not fitted and covers(text, site.tail, site.facts)
    if site.tail and not over_tail:
        return Offer(identity, text, cursor, cursor)
    on_this_line = typed.rpartition("\n")[2]
    start = Place(cursor.line, cursor.index - len(on_this_line))
    end = Place(cursor.line, cursor.index + len(site.tail)) if over_tail else cursor
    return Offer(identity, on_this_line + text, start, end)
