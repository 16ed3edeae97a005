"""What is cut from, or dropped of, a completion before it is shown: an ordered list of pure functions.

Each takes the text and the site, and returns the text to show; an empty string means: show nothing. The order
matters: text that is no code goes first, then what the site has already, then what is left of blanks.
"""

from __future__ import annotations

from collections.abc import Callable

from velospec_lsp.completion.site import Site
from velospec_lsp.filters.blank import trim_blank
from velospec_lsp.filters.indentation import drop_repeated_indentation
from velospec_lsp.filters.next_line import drop_next_lines
from velospec_lsp.filters.sentinel import cut_at_sentinel
from velospec_lsp.filters.tail_overlap import cut_tail_overlap

Filter = Callable[[str, Site], str]

FILTERS: tuple[tuple[str, Filter], ...] = (
    ("sentinel", cut_at_sentinel),
    ("indentation", drop_repeated_indentation),
    ("tail overlap", cut_tail_overlap),
    ("next line", drop_next_lines),
    ("blank", trim_blank),
)
"""Name and function of each filter, in the order in which they are applied."""


def apply_filters(text: str, site: Site) -> tuple[str, str]:
    """What is left of `text`, and the name of the filter that left nothing of it (else an empty string)."""
    for name, function in FILTERS:
        filtered = function(text, site)
        if not filtered:
            return "", name
        text = filtered
    return text, ""
