"""The lines right above the cursor, written once more."""

from __future__ import annotations

import re

from velospec_lsp.completion.site import Site

_TELLING = 10  # characters; shorter lines (`break`, `},`) may well follow one another
_MOST = 12  # lines
_WORD = re.compile(r"[^\W\d]{2,}")


def drop_lines_above(text: str, site: Site) -> str:
    """Nothing if `text` begins with the last lines above, two of them or one that is not short.

    Not where the document itself repeats that line (rows of a table), and not in prose. A text that begins
    with the whole of its own line once more loses that.
    """
    own = site.line_before.strip()
    if len(own) >= _TELLING and text.startswith(own) and text != own and len(set(_WORD.findall(own))) > 1:
        return text[len(own) :]
    if site.facts.prose:
        return text
    above = [line.rstrip() for line in site.prefix[-4000:].split("\n")[:-1] if line.strip()]
    lines = text.rstrip().split("\n")
    written = [line.rstrip() for line in (site.line_before + lines[0], *lines[1:]) if line.strip()]
    for count in range(min(len(written), len(above), _MOST), 0, -1):
        if written[:count] == above[-count:] and _tells(above, count):
            return ""
    return text


def _tells(above: list[str], count: int) -> bool:
    """Whether to write the last `count` lines above again is a repetition, and no row of a table."""
    block = above[-count:]
    if above[-2 * count : -count] == block:
        return False
    return max(len(line.strip()) for line in block) >= _TELLING
