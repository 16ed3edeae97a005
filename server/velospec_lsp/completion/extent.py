"""How much is to be written at a place: one line, or a block."""

from __future__ import annotations

from dataclasses import dataclass

from velospec_lsp.completion.site import Site
from velospec_lsp.completion.tail import is_inert
from velospec_lsp.settings import Settings


@dataclass(frozen=True, slots=True)
class Extent:
    """At most `lines` lines; within the cursor's block where `in_block`."""

    lines: int = 1
    in_block: bool = False


def extent_of(site: Site, settings: Settings) -> Extent:
    """One line before text that stays; else up to the line limit, within the cursor's block."""
    if not settings.multiline or not is_inert(site.tail):
        return Extent()
    return Extent(settings.max_lines, in_block=True)
