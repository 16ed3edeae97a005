"""What is cut from, or dropped of, a completion before it is shown: an ordered list of pure functions.

Each takes the text and the site, and returns a part of the text, in one piece; an empty string means: show
nothing. The order matters: text that is no code goes first, then what the site has already, then what the
model writes beyond its place, then what is left of blanks. What stays is looked at again until no filter
cuts any more, so that what one of them lays bare does not escape those before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from velospec_lsp.completion.site import Site
from velospec_lsp.filters.above import drop_lines_above
from velospec_lsp.filters.balance import cut_unclosed
from velospec_lsp.filters.blank import trim_blank
from velospec_lsp.filters.brackets import cut_unopened
from velospec_lsp.filters.chat import strip_chat
from velospec_lsp.filters.indentation import drop_repeated_indentation
from velospec_lsp.filters.leading_space import drop_doubled_space
from velospec_lsp.filters.line_end import cut_repeated_end
from velospec_lsp.filters.next_line import drop_next_lines
from velospec_lsp.filters.repetition import cut_repeated_lines
from velospec_lsp.filters.scope import limit_scope
from velospec_lsp.filters.sentinel import cut_at_sentinel
from velospec_lsp.filters.tail_overlap import cut_tail_overlap
from velospec_lsp.filters.trivial import drop_trivial
from velospec_lsp.filters.unfinished import drop_unfinished


class Filter(NamedTuple):
    """One filter; `cut_off` ones are for texts that a limit has cut off."""

    name: str
    function: Callable[[str, Site], str]
    cut_off: bool = False


FILTERS: tuple[Filter, ...] = (
    Filter("sentinel", cut_at_sentinel),
    Filter("chat", strip_chat),
    Filter("unfinished", drop_unfinished, cut_off=True),
    Filter("indentation", drop_repeated_indentation),
    Filter("leading space", drop_doubled_space),
    Filter("tail overlap", cut_tail_overlap),
    Filter("lines above", drop_lines_above),
    Filter("next line", drop_next_lines),
    Filter("repeated lines", cut_repeated_lines),
    Filter("repeated end", cut_repeated_end),
    Filter("scope", limit_scope),
    Filter("unopened brackets", cut_unopened),
    Filter("unclosed brackets", cut_unclosed),
    Filter("trivial", drop_trivial),
    Filter("blank", trim_blank),
)
"""The filters, in the order in which they are applied."""


def apply_filters(text: str, site: Site, *, cut_off: bool = False) -> tuple[str, str]:
    """What is left of `text`, and the name of the filter that left nothing of it (else an empty string).

    `cut_off` tells that the model was stopped by a limit, so that the end may be half of a word or line.
    """
    filters = [each for each in FILTERS if cut_off or not each.cut_off]
    while True:
        before = text
        for each in filters:
            text = each.function(text, site)
            if not text:
                return "", each.name
        if text == before:
            return text, ""
        filters = [each for each in FILTERS if not each.cut_off]
